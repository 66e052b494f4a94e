// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// ref names an object. Two kinds of one name in different groups do not occur.
type ref struct{ kind, namespace, name string }

func (r ref) String() string {
	if r.namespace == "" {
		return r.kind + " " + r.name
	}
	return r.kind + " " + r.namespace + "/" + r.name
}

func refOf(o *unstructured.Unstructured) ref { return ref{o.GetKind(), o.GetNamespace(), o.GetName()} }

// facts are what the cluster holds.
type facts struct {
	// objects are those with the operator's label, and those that have the name of one
	// of its objects.
	objects map[ref]*unstructured.Unstructured
	// tenants are the AITenants by name, settings the MaasTenantConfigs by namespace.
	tenants  map[string]*v1alpha1.AITenant
	settings map[string]*v1alpha1.MaasTenantConfig
	// namespaces are all there are, gateways those of the Gateways' namespace.
	namespaces map[string]*corev1.Namespace
	gateways   map[string]bool
	// config is nil if there is none.
	config *v1alpha1.Config
	// kept are the objects of users.
	kept map[ref]*unstructured.Unstructured
}

// String sums the tenants up.
func (f *facts) String() string {
	out := fmt.Sprintf("%d objects", len(f.objects))
	for _, name := range slices.Sorted(maps.Keys(f.tenants)) {
		out += fmt.Sprintf(", %s is %s", name, tenantState(f.tenants[name]))
		if config := f.settings[homeOf(name)]; config != nil {
			out += "/" + readyOf(config.Status.Conditions, config.Generation)
		}
	}
	return out
}

// listable are the kinds of which objects can be listed, but for those that
// Kubernetes itself makes of others.
func listable(config *rest.Config) ([]schema.GroupVersionKind, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discover kinds: %w", err)
	}
	derived := []string{"Event", "Pod", "ReplicaSet", "ControllerRevision", "Endpoints", "EndpointSlice", "Lease", "ComponentStatus"}
	var kinds []schema.GroupVersionKind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("read a version: %w", err)
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if slices.Contains(r.Verbs, "list") && !slices.Contains(derived, r.Kind) {
				kinds = append(kinds, version.WithKind(r.Kind))
			}
		}
	}
	return kinds, nil
}

// read reads everything, and the objects of users.
func (c *cluster) read(ctx context.Context, users map[ref]*unstructured.Unstructured) (*facts, error) {
	f := &facts{
		kept:    map[ref]*unstructured.Unstructured{},
		objects: map[ref]*unstructured.Unstructured{}, tenants: map[string]*v1alpha1.AITenant{}, settings: map[string]*v1alpha1.MaasTenantConfig{},
		namespaces: map[string]*corev1.Namespace{}, gateways: map[string]bool{},
	}
	known := knownNames()
	const readers = 8
	queue, failures := make(chan schema.GroupVersionKind), make(chan error, len(c.kinds))
	var mu sync.Mutex
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for kind := range queue {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
				if err := c.Admin.List(ctx, list); err != nil {
					failures <- fmt.Errorf("list %s: %w", kind.Kind, err)
					continue
				}
				mu.Lock()
				failures <- f.take(list.Items, known)
				mu.Unlock()
			}
		})
	}
	for _, kind := range c.kinds {
		queue <- kind
	}
	close(queue)
	group.Wait()
	close(failures)
	for err := range failures {
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	for r, user := range users {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(user.GroupVersionKind())
		switch err := c.Admin.Get(ctx, client.ObjectKeyFromObject(user), live); {
		case err == nil:
			f.kept[r] = live
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read %s: %w", r, err)
		}
	}
	return f, nil
}

// take sorts objects of one kind.
func (f *facts) take(items []unstructured.Unstructured, known map[ref]bool) error {
	for i := range items {
		o := &items[i]
		if err := f.note(o); err != nil {
			return err
		}
		owner := metav1.GetControllerOf(o)
		if owner != nil && owner.Kind == cronJobKind || o.GetKind() == v1alpha1.KindAITenant || o.GetKind() == v1alpha1.KindConfig {
			continue
		}
		if o.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue || known[refOf(o)] {
			f.objects[refOf(o)] = o
		}
	}
	return nil
}

// note keeps what is judged by more than its existence.
func (f *facts) note(o *unstructured.Unstructured) (err error) {
	switch o.GetKind() {
	case v1alpha1.KindAITenant:
		f.tenants[o.GetName()], err = as[v1alpha1.AITenant](o)
	case v1alpha1.KindMaasTenantConfig:
		f.settings[o.GetNamespace()], err = as[v1alpha1.MaasTenantConfig](o)
	case v1alpha1.KindConfig:
		f.config, err = as[v1alpha1.Config](o)
	case "Namespace":
		f.namespaces[o.GetName()], err = as[corev1.Namespace](o)
	case "Gateway":
		if o.GroupVersionKind().Group == gwapiv1.GroupName && o.GetNamespace() == stage.GatewayNamespace {
			f.gateways[o.GetName()] = true
		}
	}
	return err
}

func as[T any](o *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
	}
	return out, nil
}
