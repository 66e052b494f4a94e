// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kserve is the stand-in for KServe's LLMInferenceService controller.
// It owns the status of LLMInferenceServices and, for services that ask for a
// route and have none, the HTTPRoute with the three router labels. It starts no
// workload, merges no presets and looks at nothing but the fields of
// spec.router.
//
// A service is ready when each of its routes is accepted by a gateway. A test
// makes one fail with [AnnotationNotReady], and speaks for one itself under
// [AnnotationStall].
package kserve

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/host"
)

const (
	// AnnotationNotReady on a service makes it not ready; the value is the message.
	AnnotationNotReady = "standins.maas.opendatahub.io/not-ready"
	// AnnotationStall set to "true" on a service leaves its status to the test, and
	// its route too.
	AnnotationStall = "standins.maas.opendatahub.io/stall"

	defaultGatewayNamespace = "openshift-ingress"
	defaultGatewayName      = "maas-default-gateway"
)

// GVK is the version of LLMInferenceService the stand-in works with.
func GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "serving.kserve.io", Version: "v1alpha2", Kind: "LLMInferenceService"}
}

// Options adjusts the stand-in.
type Options struct {
	// Gateway is the parent of created routes of services that name none; zero
	// is openshift-ingress/maas-default-gateway.
	Gateway types.NamespacedName
	// ModelRouting adds the address for routing by the model in the body, with
	// the published model name. Only newer CRDs have that field.
	ModelRouting bool
	// Logger receives what the stand-in does.
	Logger logr.Logger
}

// KServe is a running stand-in.
type KServe struct {
	host *host.Host
}

// Start runs the stand-in until Stop. The context bounds only the start.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (*KServe, error) {
	scheme := runtime.NewScheme()
	if err := gwapiv1.Install(scheme); err != nil {
		return nil, err
	}
	if opts.Gateway.Name == "" {
		opts.Gateway = types.NamespacedName{Namespace: defaultGatewayNamespace, Name: defaultGatewayName}
	}
	r := &reconciler{gateway: opts.Gateway, modelRouting: opts.ModelRouting}
	h, err := host.Start(ctx, cfg, host.Config{
		Name:     "kserve",
		Scheme:   scheme,
		Requires: []schema.GroupVersionKind{GVK(), host.GatewayAPI("HTTPRoute")},
		Setup:    func(_ context.Context, mgr ctrl.Manager) error { return r.setup(mgr) },
		Logger:   opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &KServe{host: h}, nil
}

// Stop ends the stand-in and returns when it is gone.
func (k *KServe) Stop() error { return k.host.Stop() }

// Done is closed when the stand-in has ended.
func (k *KServe) Done() <-chan struct{} { return k.host.Done() }
