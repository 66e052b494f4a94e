// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

const (
	kindGateway  = "Gateway"
	kindModelRef = "MaaSModelRef"
)

// site is a tenant with what the samples declare for it: the default tenant has them
// as they are, another one has a copy in namespaces of its own behind its own Gateway.
type site struct {
	// tenant is the name of the AITenant.
	tenant string
	// objects are the samples, model is what they say of their model.
	objects []*unstructured.Unstructured
	model   sampleModel
}

// defaultTenant is the name of the AITenant that the operator makes by itself.
const defaultTenant = stage.TenantNamespace

// site reads the samples for a tenant.
func (s *stack) site(tenant string) (*site, error) {
	objects, err := samples.Load(s.layout.samples())
	if err != nil {
		return nil, err
	}
	return newSite(tenant, objects)
}

func newSite(tenant string, objects []*unstructured.Unstructured) (*site, error) {
	t := &site{tenant: tenant, objects: objects}
	var err error
	if t.model, err = findModel(objects); err != nil || t.isDefault() {
		return t, err
	}
	t.objects = t.copies(objects)
	t.model, err = findModel(t.objects)
	return t, err
}

func (t *site) isDefault() bool { return t.tenant == defaultTenant }

// suffix is what tells names of the tenant's things from those of the default one.
func (t *site) suffix(name string) string {
	if t.isDefault() {
		return name
	}
	return name + "-" + t.tenant
}

// service is the name of the tenant's maas-api, route that of the route to it.
func (t *site) service() string { return t.suffix(processService) }
func (t *site) route() string   { return t.suffix("maas-api-route") }

// gatewayProcess is the name of the process that plays the tenant's Gateway.
func (t *site) gatewayProcess() string { return t.suffix(processGateway) }

// gatewayAdmin is the name of the address at which that tells what it decided.
func (t *site) gatewayAdmin() string { return t.gatewayProcess() + " admin" }

// gateway is the tenant's Gateway.
func (t *site) gateway() types.NamespacedName {
	if t.isDefault() {
		return types.NamespacedName{Namespace: stage.GatewayNamespace, Name: stage.GatewayName}
	}
	return types.NamespacedName{Namespace: stage.GatewayNamespace, Name: t.tenant}
}

// namespace is where the tenant's policies and subscriptions are.
func (t *site) namespace() string {
	if t.isDefault() {
		return stage.TenantNamespace
	}
	return "ai-tenant-" + t.tenant
}

// aiTenant is the tenant itself. Its Gateway is the one with its name.
func (t *site) aiTenant() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "AITenant",
		"metadata": map[string]any{"name": t.tenant, "namespace": stage.AITenantNamespace},
	}}
}

// copies are the samples for a tenant that is not the default one: the same in other
// places. What exists once in a cluster is left out.
func (t *site) copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	places := map[string]string{
		t.model.Ref.Namespace:      t.model.Ref.Namespace + "-" + t.tenant,
		t.model.Hostname:           t.tenant + "." + t.model.Hostname,
		stage.TenantNamespace:      t.namespace(),
		stage.GatewayName:          t.tenant,
		"/" + t.model.Ref.String(): fmt.Sprintf("/%s-%s/%s", t.model.Ref.Namespace, t.tenant, t.model.Ref.Name),
	}
	var all []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "GatewayClass" || (o.GetKind() == "Namespace" && places[o.GetName()] == "") {
			continue
		}
		moved, _ := move(o.Object, places).(map[string]any) // It is what it was.
		object := &unstructured.Unstructured{Object: moved}
		if object.GetKind() == kindModelRef {
			spec, _ := moved["spec"].(map[string]any)
			spec["tenantRef"] = t.tenant
		}
		all = append(all, object)
	}
	return all
}

// move copies a value with some of the texts in it replaced, those that are exactly
// a place.
func move(value any, places map[string]string) any {
	switch v := value.(type) {
	case string:
		if to, found := places[v]; found {
			return to
		}
	case []any:
		all := make([]any, 0, len(v))
		for _, item := range v {
			all = append(all, move(item, places))
		}
		return all
	case map[string]any:
		all := maps.Clone(v)
		for key, item := range all {
			all[key] = move(item, places)
		}
		return all
	}
	return value
}
