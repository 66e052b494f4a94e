// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
)

// ModelRefBuilder makes a MaaSModelRef.
type ModelRefBuilder struct{ object v1alpha1.MaaSModelRef }

// ModelRef refers to the LLMInferenceService of its own name.
func ModelRef(namespace, name string) *ModelRefBuilder {
	b := &ModelRefBuilder{}
	b.object.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	return b.Backend("LLMInferenceService", name)
}

// Backend replaces the backend.
func (b *ModelRefBuilder) Backend(kind v1alpha1.BackendKind, name string) *ModelRefBuilder {
	b.object.Spec.ModelRef = v1alpha1.BackendReference{Kind: kind, Name: name}
	return b
}

// Override replaces the discovered URL.
func (b *ModelRefBuilder) Override(url string) *ModelRefBuilder {
	b.object.Spec.EndpointOverride = url
	return b
}

// Tenant names the AITenant.
func (b *ModelRefBuilder) Tenant(name string) *ModelRefBuilder {
	b.object.Spec.TenantRef = name
	return b
}

// Annotate sets the annotations.
func (b *ModelRefBuilder) Annotate(annotations map[string]string) *ModelRefBuilder {
	b.object.Annotations = annotations
	return b
}

// Status replaces the status, for a test that writes it as the operator would.
func (b *ModelRefBuilder) Status(status v1alpha1.MaaSModelRefStatus) *ModelRefBuilder {
	b.object.Status = status
	return b
}

// Obj is the object; the builder can go on making others.
func (b *ModelRefBuilder) Obj() *v1alpha1.MaaSModelRef { return b.object.DeepCopy() }

// ModelServer is an LLMInferenceService that brings the route of its own name.
func ModelServer(namespace, name string) *unstructured.Unstructured {
	return ModelServerOn(namespace, name, name)
}

// ModelServerOn is an LLMInferenceService that brings the named route.
func ModelServerOn(namespace, name, route string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"model":  map[string]any{"uri": "hf://example/" + name, "name": "example/" + name},
		"router": map[string]any{"route": map[string]any{"http": map[string]any{"refs": []any{map[string]any{"name": route}}}}},
	}}}
	o.SetGroupVersionKind(kserve.GVK())
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// RouteBuilder makes the HTTPRoute of a model server.
type RouteBuilder struct{ object gwapiv1.HTTPRoute }

// Route is the route of the LLMInferenceService of its own name, with the
// labels by which a model's route is found, below a Gateway.
func Route(namespace, name, gatewayNamespace, gatewayName string) *RouteBuilder {
	b := &RouteBuilder{}
	b.object.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	b.object.Spec.ParentRefs = []gwapiv1.ParentReference{{
		Namespace: new(gwapiv1.Namespace(gatewayNamespace)), Name: gwapiv1.ObjectName(gatewayName),
	}}
	return b.Of(name)
}

// Of makes it the route of another LLMInferenceService.
func (b *RouteBuilder) Of(service string) *RouteBuilder {
	b.object.Labels = map[string]string{
		"app.kubernetes.io/name":      service,
		"app.kubernetes.io/component": "llminferenceservice-router",
		"app.kubernetes.io/part-of":   "llminferenceservice",
	}
	return b
}

// Hostnames replaces the hostnames.
func (b *RouteBuilder) Hostnames(names ...string) *RouteBuilder {
	b.object.Spec.Hostnames = nil
	for _, name := range names {
		b.object.Spec.Hostnames = append(b.object.Spec.Hostnames, gwapiv1.Hostname(name))
	}
	return b
}

// Below replaces the Gateways.
func (b *RouteBuilder) Below(gateways ...types.NamespacedName) *RouteBuilder {
	b.object.Spec.ParentRefs = nil
	for _, g := range gateways {
		b.object.Spec.ParentRefs = append(b.object.Spec.ParentRefs, gwapiv1.ParentReference{
			Namespace: new(gwapiv1.Namespace(g.Namespace)), Name: gwapiv1.ObjectName(g.Name),
		})
	}
	return b
}

// Path adds a rule for all paths below one.
func (b *RouteBuilder) Path(prefix string) *RouteBuilder {
	b.object.Spec.Rules = append(b.object.Spec.Rules, gwapiv1.HTTPRouteRule{Matches: []gwapiv1.HTTPRouteMatch{{
		Path: &gwapiv1.HTTPPathMatch{Type: new(gwapiv1.PathMatchPathPrefix), Value: &prefix},
	}}})
	return b
}

// Unlabelled leaves only the name to find the route by.
func (b *RouteBuilder) Unlabelled() *RouteBuilder {
	b.object.Labels = nil
	return b
}

// Stalled leaves the route's status to the test.
func (b *RouteBuilder) Stalled() *RouteBuilder {
	b.object.Annotations = map[string]string{gateway.AnnotationStall: "true"}
	return b
}

// Obj is the object; the builder can go on making others.
func (b *RouteBuilder) Obj() *gwapiv1.HTTPRoute { return b.object.DeepCopy() }
