// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

func meta() values.Meta {
	return values.Meta{Namespace: "gateways", Name: "telemetry", Labels: map[string]string{"label": "value"}}
}

func policyRequest() render.Request {
	return render.Request{ID: telemetry.PolicyTemplate, Namespace: "gateways", Name: "telemetry", Values: values.GatewayTelemetryPolicy{
		Meta: meta(), Target: values.GatewayTarget{Name: "gateway"}, MetricLabels: []values.NamedExpression{{Name: "label", Expression: "expression"}},
	}}
}

func latencyRequest() render.Request {
	return render.Request{ID: telemetry.LatencyTemplate, Namespace: "gateways", Name: "telemetry", Values: values.GatewayTelemetry{
		Meta: meta(), Gateway: "gateway", Subscription: "expression",
	}}
}

// Names must be what was asked for, and keys are constants of ours.
var (
	identity = rendertest.Refused("Meta.Name", "Meta.Namespace", "Meta.Labels{}")
	keys     = rendertest.Refused("MetricLabels[].Name")
)

func TestNoTextChangesAnObject(t *testing.T) {
	t.Parallel()
	rendertest.Hostile(t, parts.Engine(t), policyRequest(), identity, keys)
	rendertest.Hostile(t, parts.Engine(t), latencyRequest(), identity)
}

func FuzzPolicyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), policyRequest(), identity, keys)
}

func FuzzLatencyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), latencyRequest(), identity)
}
