// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/golden"
)

// The kinds that Kuadrant generates.
var (
	authConfig  = schema.GroupVersionKind{Group: "authorino.kuadrant.io", Version: "v1beta3", Kind: "AuthConfig"}
	envoyFilter = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
	limitador   = schema.GroupVersionKind{Group: "limitador.kuadrant.io", Version: "v1alpha1", Kind: "Limitador"}
)

// ruleAnnotation says which rule of a route an AuthConfig is for.
const ruleAnnotation = "HTTPRouteRule.gateway.networking.k8s.io"

// compare compares everything that Kuadrant generated with the golden files: what
// identifies objects of this run only is left out. Nothing of it depends on the platform.
func (on *installation) compare(ctx context.Context) {
	GinkgoHelper()
	file := func(name string) string { return filepath.Join("testdata", name+".yaml") }
	golden.YAML(GinkgoTB(), file("authconfigs"), on.authConfigs(ctx)...)
	golden.YAML(GinkgoTB(), file("limits"), on.limits(ctx))
	for _, t := range tenants() {
		golden.YAML(GinkgoTB(), file("kuadrant-"+t.gateway), on.filter(ctx, t))
	}
}

// authConfigs are those of all rules of routes. Those that say the same are written
// once, for rules and scopes, by which a filter asks for them.
func (on *installation) authConfigs(ctx context.Context) []any {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(authConfig)
	Expect(on.Admin.List(ctx, list)).To(Succeed())
	scopes, specs := map[string]map[string]any{}, map[string]any{}
	for _, o := range list.Items {
		scope, spec := o.GetName(), o.Object["spec"].(map[string]any)
		Expect(spec["hosts"]).To(Equal([]any{scope}), "hosts of AuthConfig %s", scope)
		delete(spec, "hosts")
		text := string(must(json.Marshal(spec)))
		if scopes[text] == nil {
			scopes[text] = map[string]any{}
		}
		rule := o.GetAnnotations()[ruleAnnotation]
		Expect(rule).NotTo(BeEmpty(), "rule of AuthConfig %s", scope)
		scopes[text][rule], specs[text] = scope, spec
	}
	first := func(text string) string { return slices.Min(slices.Collect(maps.Keys(scopes[text]))) }
	var out []any
	for _, text := range slices.SortedFunc(maps.Keys(specs), func(a, b string) int { return cmp.Compare(first(a), first(b)) }) {
		out = append(out, map[string]any{"scopes": scopes[text], "spec": specs[text]})
	}
	return out
}

// limits are those of all policies together, in an order of their own.
func (on *installation) limits(ctx context.Context) []any {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(limitador)
	Expect(on.Admin.Get(ctx, client.ObjectKey{Namespace: engines.KuadrantNamespace, Name: "limitador"}, object)).To(Succeed())
	all, found, err := unstructured.NestedSlice(object.Object, "spec", "limits")
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue(), "limits")
	text := func(limit any) string { return string(must(json.Marshal(limit))) }
	slices.SortFunc(all, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
	return all
}

// filter is the configuration of the filter in a tenant's gateway.
func (on *installation) filter(ctx context.Context, t tenant) any {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(envoyFilter)
	Expect(on.Admin.Get(ctx, client.ObjectKey{Namespace: t.gatewayKey().Namespace, Name: "kuadrant-" + t.gateway}, object)).To(Succeed())
	patches, _, err := unstructured.NestedSlice(object.Object, "spec", "configPatches")
	Expect(err).NotTo(HaveOccurred())
	for _, patch := range patches {
		text, found, err := unstructured.NestedString(patch.(map[string]any), "patch", "value", "typed_config", "value", "config", "configuration", "value")
		Expect(err).NotTo(HaveOccurred())
		if found {
			var configuration any
			Expect(json.Unmarshal([]byte(text), &configuration)).To(Succeed())
			return configuration
		}
	}
	Fail(fmt.Sprintf("EnvoyFilter kuadrant-%s configures no filter", t.gateway))
	return nil
}
