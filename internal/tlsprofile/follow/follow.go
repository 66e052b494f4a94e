// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow keeps a program's TLS parameters those of the cluster it runs in.
// It owns reading and watching OpenShift's APIServer/cluster; what the profile
// means is decided in package tlsprofile.
package follow

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
)

const (
	apiServerName = "cluster"

	profileTries   = 3
	profileTimeout = 10 * time.Second
	profilePause   = 2 * time.Second
)

// Resource is what is read and watched; the right to do so is the caller's to have.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "apiservers"}
}

// Profile follows the TLS profile of an OpenShift cluster.
type Profile struct {
	client dynamic.ResourceInterface
	clock  clock.Clock
	log    *slog.Logger
}

// New returns a Profile; nothing is sent yet.
func New(c dynamic.Interface, clk clock.Clock, log *slog.Logger) *Profile {
	return &Profile{client: c.Resource(Resource()), clock: clk, log: log}
}

// Fetch returns the parameters to start with. A cluster without profiles has the
// intermediate one and never another; one that cannot be asked has it until a
// watch says otherwise: follow tells the two apart.
func (t *Profile) Fetch(ctx context.Context) (p tlsprofile.Parameters, follow bool) {
	var err error
	for try := range profileTries {
		if try > 0 && !t.pause(ctx) {
			break
		}
		if p, err = t.fetch(ctx); err == nil {
			return p, true
		}
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return tlsprofile.Intermediate(), false
		}
		if apierrors.IsForbidden(err) {
			t.log.Info("The TLS profile of the cluster may not be read: using the intermediate one")
			return tlsprofile.Intermediate(), false
		}
	}
	t.log.Warn("Cannot read the TLS profile of the cluster: using the intermediate one until it can be read", slog.Any("error", err))
	return tlsprofile.Intermediate(), true
}

func (t *Profile) fetch(ctx context.Context) (tlsprofile.Parameters, error) {
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	defer cancel()
	object, err := t.client.Get(ctx, apiServerName, metav1.GetOptions{})
	if err != nil {
		return tlsprofile.Parameters{}, fmt.Errorf("read APIServer %s: %w", apiServerName, err)
	}
	return t.parameters(object)
}

func (t *Profile) parameters(object *unstructured.Unstructured) (tlsprofile.Parameters, error) {
	p, unknown, err := tlsprofile.FromAPIServer(object.Object)
	if err != nil {
		return p, fmt.Errorf("read APIServer %s: %w", object.GetName(), err)
	}
	if len(unknown) > 0 {
		t.log.Warn("The TLS profile of the cluster names cipher suites that are not available here", slog.Any("suites", unknown))
	}
	return p, nil
}

func (t *Profile) pause(ctx context.Context) bool {
	timer := t.clock.NewTimer(profilePause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// Follow calls apply with the parameters of each change until the context ends. A
// profile that cannot be understood changes nothing.
func (t *Profile) Follow(ctx context.Context, apply func(tlsprofile.Parameters)) error {
	only := fields.OneTermEqualSelector("metadata.name", apiServerName).String()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return t.client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return t.client.Watch(ctx, o)
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})
	changed := func(object any) {
		profile, known := object.(*unstructured.Unstructured)
		if !known {
			return
		}
		p, err := t.parameters(profile)
		if err != nil {
			t.log.Warn("Keeping the TLS parameters: the profile of the cluster is invalid", slog.Any("error", err))
			return
		}
		apply(p)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, object any) { changed(object) },
		DeleteFunc: func(any) { apply(tlsprofile.Intermediate()) },
	}); err != nil {
		return fmt.Errorf("watch APIServer %s: %w", apiServerName, err)
	}
	informer.RunWithContext(ctx)
	return nil
}
