// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// serviceName is what records are filed under.
const serviceName = "models-as-a-service"

// attributeUser is the attribute that the proxy finds a user's own records by.
const attributeUser = "user_id"

// attributeAnswered is the attribute with the model as the answer names it.
const attributeAnswered = "response_model"

// paths are those of requests that use tokens, with their query.
const paths = `^[^?]*/v1/(chat/)?completions(\?.*)?$`

// suffixes are the ends of the same paths.
func suffixes() []string { return []string{"/v1/chat/completions", "/v1/completions"} }

// tokens are the numbers that are taken from answers.
func tokens() []values.UsageToken {
	return []values.UsageToken{
		{Attribute: "tokens_total", Member: "total_tokens"},
		{Attribute: "tokens_prompt", Member: "prompt_tokens"},
		{Attribute: "tokens_completion", Member: "completion_tokens"},
	}
}

// identity is an attribute that says something about the caller.
type identity struct {
	name string
	// property is its path in auth.identity.
	property string
	wanted   func(telemetry.Logs) bool
}

// identities are what records can say about a caller, sorted by name. All of it comes
// from what the gateway's filter keeps of Authorino's answer, as JSON, so that nothing
// a client sends can take its place. Requests over a limit have it, too; those that Authorino
// refused have nothing of it. The model is the one that was governed, and not what a client
// wrote: it becomes a label.
func identities() []identity {
	always := func(telemetry.Logs) bool { return true }
	user := func(l telemetry.Logs) bool { return l.User }
	return []identity{
		{"groups", "groups_str", user},
		{"key_id", "keyId", user},
		{"key_name", "keyName", user},
		{"model", "subscription_info.resolvedModel", always},
		{"organization_id", "subscription_info.organizationId", func(l telemetry.Logs) bool { return l.Organization }},
		{"subscription", "selected_subscription", always},
		{attributeUser, "userid", user},
	}
}

// Quoted are the attributes that the collector takes out of their quotes, sorted, and
// drops where there is nothing to say.
func Quoted() []string {
	names := make([]string, 0, len(identities())+1)
	for _, i := range identities() {
		names = append(names, i.name)
	}
	return slices.Sorted(slices.Values(append(names, attributeAnswered)))
}

// Numbers are the attributes that are numbers, sorted.
func Numbers() []string {
	names := make([]string, 0, len(tokens()))
	for _, token := range tokens() {
		names = append(names, token.Attribute)
	}
	return slices.Sorted(slices.Values(names))
}

// Streams are the attributes by which records are grouped.
func Streams() []string { return []string{"subscription", "model", "response_type"} }

// TenantInput is everything the EnvoyFilter of a tenant's Gateway depends on.
type TenantInput struct {
	// Tenant is the tenant, with its Gateway, which exists.
	Tenant tenancy.Context
	// Labels are those of the tenant's objects, without the component.
	Labels map[string]string
	// MonitoringNamespace is where the collector is.
	MonitoringNamespace string
	// Logs are the switches of the tenant's configuration.
	Logs telemetry.Logs
}

// TenantFilter computes the EnvoyFilter that has a tenant's Gateway make records.
func TenantFilter(in TenantInput) render.Request {
	labels := maps.Clone(in.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelComponent] = component
	m := values.Meta{Namespace: in.Tenant.Gateway.Namespace, Name: AccessLog(in.Tenant), Labels: labels}
	return request(AccessLogTemplate, m, values.UsageAccessLog{
		Meta: m, Gateway: in.Tenant.Gateway.Name, Collector: collectorRuntime + "." + in.MonitoringNamespace + ".svc", CollectorPort: collectorPort,
		Paths: paths, LuaSuffixes: suffixes(), Tokens: tokens(), Attributes: attributes(in.Logs),
		Resource: []values.UsageAttribute{
			{Name: "service.name", Value: serviceName},
			{Name: "service.namespace", Value: in.Tenant.Gateway.Namespace},
			{Name: "tenant", Value: in.Tenant.Name},
		},
	})
}

// attributes are those of a record, sorted by name.
func attributes(logs telemetry.Logs) []values.UsageAttribute {
	all := []values.UsageAttribute{
		{Name: "response_code", Value: "%RESPONSE_CODE%"},
		{Name: attributeAnswered, Value: "%DYNAMIC_METADATA(maas.usage:" + attributeAnswered + ")%"},
	}
	for _, token := range tokens() {
		all = append(all, values.UsageAttribute{Name: token.Attribute, Value: "%DYNAMIC_METADATA(maas.usage:" + token.Attribute + ")%"})
	}
	for _, i := range identities() {
		if i.wanted(logs) {
			all = append(all, values.UsageAttribute{Name: i.name, Value: "%FILTER_STATE(wasm.kuadrant.auth.identity." + i.property + ":PLAIN)%"})
		}
	}
	slices.SortFunc(all, func(a, b values.UsageAttribute) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
