// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"maps"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Ids of the templates.
const (
	PolicyTemplate  render.ID = "gateway/telemetrypolicy-maas-telemetry"
	LatencyTemplate render.ID = "gateway/telemetry-latency-per-subscription"
)

// The CustomResourceDefinitions of their kinds.
const (
	PolicyCRD  = "telemetrypolicies.extensions.kuadrant.io"
	LatencyCRD = "telemetries.telemetry.istio.io"
)

// Input is everything the objects depend on.
type Input struct {
	// Tenant is the tenant, with its Gateway, which exists.
	Tenant tenancy.Context
	// Spec is that of the tenant's MaasTenantConfig; nil means the defaults.
	Spec *v1alpha1.TenantTelemetryConfig
	// Labels are those of the tenant's objects, without the component.
	Labels map[string]string
}

// Build computes the objects: none when telemetry is switched off.
func Build(in Input) ([]render.Request, error) {
	switches := SwitchesOf(in.Spec)
	if !switches.Enabled {
		return nil, nil
	}
	tag, err := subscriptionTag()
	if err != nil {
		return nil, fmt.Errorf("compute the tag of latencies: %w", err)
	}
	gateway := in.Tenant.Gateway
	policy := values.GatewayTelemetryPolicy{
		Meta: in.meta(in.Tenant.TelemetryPolicy()), Target: values.GatewayTarget{Name: gateway.Name}, MetricLabels: metricLabels(switches.Metrics),
	}
	latency := values.GatewayTelemetry{Meta: in.meta(in.Tenant.LatencyTelemetry()), Gateway: gateway.Name, Subscription: tag}
	return []render.Request{
		{ID: PolicyTemplate, Namespace: policy.Meta.Namespace, Name: policy.Meta.Name, Values: policy},
		{ID: LatencyTemplate, Namespace: latency.Meta.Namespace, Name: latency.Meta.Name, Values: latency},
	}, nil
}

func (in Input) meta(name string) values.Meta {
	labels := maps.Clone(in.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelComponent] = v1alpha1.ComponentTelemetry
	return values.Meta{Namespace: in.Tenant.Gateway.Namespace, Name: name, Labels: labels}
}

// metricLabels are the labels of usage metrics, sorted by name.
func metricLabels(m Metrics) []values.NamedExpression {
	all := []struct {
		name, property string
		wanted         bool
	}{
		{"cost_center", "subscription_info.costCenter", true},
		{"group", "groups_str", m.Group},
		{"model", "subscription_info.resolvedModel", m.ModelUsage},
		{"organization_id", "subscription_info.organizationId", m.Organization},
		{"subscription", "selected_subscription", true},
		{"user", "userid", m.User},
	}
	var labels []values.NamedExpression
	for _, l := range all {
		if l.wanted {
			labels = append(labels, values.NamedExpression{Name: l.name, Expression: known(l.property)})
		}
	}
	return labels
}

// known is a property of the identity, or an empty text. In the gateway's filter all
// that an expression names is there, as null if nothing is known of it; elsewhere it may
// be missing. No expression may name less than the whole path, which would hide it there.
func known(property string) string {
	path := "auth.identity." + property
	return celtext.Cond(`"identity" in auth && has(`+path+") && "+path+" != null", path, `""`)
}

// subscriptionTag is the subscription of a request, for the proxy's own metrics. A proxy
// measures every request, refused ones included, and sees the header as the client sent
// it where no policy has replaced it: only of what a model answered, behind a policy that
// sets the header, it is taken at its word. Otherwise anybody could make new series.
func subscriptionTag() (string, error) {
	inference, err := access.Inference()
	if err != nil {
		return "", err
	}
	header, err := celtext.String(callerid.SubscriptionHeader)
	if err != nil {
		return "", err
	}
	served := "response.code >= 200 && response.code < 300 && " + inference + " && " + header + " in request.headers"
	return celtext.Cond(served, "request.headers["+header+"]", `""`), nil
}
