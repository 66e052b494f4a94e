// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// The kinds of others that this controller reads. Each may be missing when it starts
// and appear later.
var (
	gateways = facts.API{
		GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "Gateway"},
		CRD:       "gateways." + gwapiv1.GroupName,
		Versions:  []string{"v1"},
	}

	// authConfigs are what Kuadrant makes of AuthPolicies for Authorino.
	authConfigs = facts.API{
		GroupKind: schema.GroupKind{Group: "authorino.kuadrant.io", Kind: "AuthConfig"},
		CRD:       "authconfigs.authorino.kuadrant.io",
		Versions:  []string{"v1beta3"},
	}

	authorinos = facts.API{
		GroupKind: schema.GroupKind{Group: "operator.authorino.kuadrant.io", Kind: "Authorino"},
		CRD:       "authorinos.operator.authorino.kuadrant.io",
		Versions:  []string{"v1beta1"},
	}

	// envoyFilters are the kind of the object in which Kuadrant keeps the configuration of
	// a Gateway, since its version 1.5; wasmPlugins are that of earlier versions.
	envoyFilters = facts.API{
		GroupKind: schema.GroupKind{Group: "networking.istio.io", Kind: "EnvoyFilter"},
		CRD:       "envoyfilters.networking.istio.io",
		Versions:  []string{"v1alpha3"},
	}
	wasmPlugins = facts.API{
		GroupKind: schema.GroupKind{Group: "extensions.istio.io", Kind: "WasmPlugin"},
		CRD:       "wasmplugins.extensions.istio.io",
		Versions:  []string{"v1alpha1"},
	}

	dataScienceClusters = facts.API{
		GroupKind: schema.GroupKind{Group: "dscinitialization.opendatahub.io", Kind: "DSCInitialization"},
		CRD:       "dscinitializations.dscinitialization.opendatahub.io",
		Versions:  []string{"v1"},
	}
)

// components are the rows of the component table whose objects this controller
// writes. Jobs are run once, by whoever takes a tenant down, and Roles for
// administrators belong to the AITenant.
func components() []desired.Component {
	var rows []desired.Component
	for _, row := range desired.Table() {
		component, _, _ := strings.Cut(string(row.ID), "/")
		if (component == "tenant" || component == "gateway") && row.GVK.Kind != "Job" {
			rows = append(rows, row)
		}
	}
	return rows
}

// kinds are the kinds of those objects, each once, in the order of the table.
func kinds() []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for _, row := range components() {
		if !seen[row.GVK] {
			seen[row.GVK] = true
			found = append(found, row.GVK)
		}
	}
	return found
}

// apiOf is the API that a row requires.
func apiOf(row desired.Component) facts.API {
	return facts.API{GroupKind: row.GVK.GroupKind(), CRD: row.Requires, Versions: []string{row.GVK.Version}}
}

// written are the APIs of kinds that this controller writes and that a cluster may
// lack, each once; the value tells whether the tenant needs it.
func written() (apis []facts.API, needed map[string]bool) {
	needed = map[string]bool{}
	for _, row := range components() {
		if row.Requires == "" {
			continue
		}
		if _, known := needed[row.Requires]; !known {
			apis = append(apis, apiOf(row))
		}
		needed[row.Requires] = needed[row.Requires] || !row.Optional
	}
	return apis, needed
}

// needs are the APIs without which the tenant waits.
func needs() []facts.API {
	apis := []facts.API{authConfigs, gateways}
	all, needed := written()
	for _, api := range all {
		if needed[api.CRD] {
			apis = append(apis, api)
		}
	}
	return apis
}

// writable leaves out requests of kinds that are not served.
func (s *scope) writable(requests []render.Request) []render.Request {
	requires := map[render.ID]string{}
	for _, row := range components() {
		requires[row.ID] = row.Requires
	}
	var kept []render.Request
	for _, request := range requests {
		if crd := requires[request.ID]; crd == "" || s.served[crd] {
			kept = append(kept, request)
		}
	}
	return kept
}
