// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// trials are objects of all templates, by their template.
func trials(tb testing.TB) map[render.ID]render.Request {
	tb.Helper()
	all := map[render.ID]render.Request{}
	requests, err := usage.Build(input(platform.OpenShift))
	if err != nil {
		tb.Fatalf("Build() error = %v", err)
	}
	filter := usage.TenantFilter(usage.TenantInput{Tenant: tenants()[0], MonitoringNamespace: mon, Logs: telemetry.Logs{User: true}, Labels: map[string]string{"a": "b"}})
	for _, r := range append(requests, filter) {
		all[r.ID] = fewer(r)
	}
	return all
}

// fewer leaves one of each list: more of the same would only take time.
func fewer(r render.Request) render.Request {
	switch v := r.Values.(type) {
	case values.UsageCollector:
		v.Quoted, v.Numbers = v.Quoted[:1], v.Numbers[:1]
		r.Values = v
	case values.UsageAccessLog:
		v.LuaSuffixes, v.Tokens, v.Attributes, v.Resource = v.LuaSuffixes[:1], v.Tokens[:1], v.Attributes[:1], v.Resource[:1]
		r.Values = v
	case values.UsageLogsDashboard:
		v.Filters, v.Totals, v.OverTime = v.Filters[:1], v.Totals[:1], v.OverTime[:1]
		r.Values = v
	}
	return r
}

// options say of which fields not every text is a good name or label, and which stand
// inside of another text or have no place in an object.
func options(r render.Request) []rendertest.Option {
	refused, derived := []string{"Meta.Name", "Meta.Labels{}"}, []string{}
	if r.Namespace == "" {
		derived = append(derived, "Meta.Namespace")
	} else {
		refused = append(refused, "Meta.Namespace")
	}
	switch v := r.Values.(type) {
	case values.UsageProxyDeployment:
		refused = append(refused, "Selector{}", "PodLabels{}")
		derived = append(derived, "Upstream")
	case values.UsageProxyService:
		refused = append(refused, "Selector{}")
	case values.UsageIngress:
		refused = append(refused, "Pods{}")
		if len(v.HostNetwork) > 0 {
			refused = append(refused, "HostNetwork{}")
		}
	case values.UsageEgress:
		refused = append(refused, "Pods{}", "DNS.DNSPods{}")
	case values.UsageCollector:
		derived = append(derived, "Quoted[]", "Numbers[]")
	case values.UsageAccessLog:
		derived = append(derived, "LuaSuffixes[]", "Tokens[].Attribute", "Tokens[].Member")
	}
	return []rendertest.Option{rendertest.Refused(refused...), rendertest.Derived(derived...)}
}

func TestNoTextChangesAnObject(t *testing.T) {
	t.Parallel()
	for id, request := range trials(t) {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			rendertest.Hostile(t, parts.Engine(t), request, options(request)...)
		})
	}
}
