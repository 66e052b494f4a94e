// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
)

const (
	hostname     = `^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)`
	labelPattern = `^[a-z0-9]([a-z0-9\-]*[a-z0-9])?$`
)

func externalModelRules() []rule {
	return []rule{
		{
			kind: externalModel, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{provider: custom, targetModel: m, endpoint: models.example.com, credentialRef: {name: s}}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.provider, spec.targetModel, spec.endpoint and spec.credentialRef",
		},
		{
			kind: externalModel, name: "name has at most 58 characters", field: "metadata.name", root: true,
			accepts: []any{strings.Repeat("m", 58)},
			refuses: []any{strings.Repeat("m", 59)},
			message: "the name of an ExternalModel must be at most 58 characters long, because objects named maas-<name> are made from it",
		},
		{
			kind: externalModel, name: "endpoint is a host name", field: "spec.endpoint", covers: []string{"pattern"},
			accepts: []any{"api.openai.com", "API.Example.com", "a.b"},
			refuses: []any{"https://api.openai.com", "api.openai.com:443", "api.openai.com/v1", "-a.com", "a..b", "a b", "[::1]", "api.openai.com."},
			message: "spec.endpoint in body should match '" + hostname + "*$'",
		},
		{
			kind: externalModel, name: "endpoint is no IP address", field: "spec.endpoint",
			accepts: []any{"10.example.com", "api.x0x10.com", "1.2.3.4.example.com"},
			refuses: []any{"203.0.113.7", "127.1", "0x7f000001", "0X7F.1", "2130706433", "0177.0.0.1", "a.0x"},
			message: "endpoint must be a host name, not an IP address: name the provider's host",
		},
		{
			kind: externalModel, name: "endpoint has at least two labels", field: "spec.endpoint",
			accepts: []any{"example.com"},
			refuses: []any{"host"},
			message: "endpoint must have at least two labels: a single one is a name inside of the cluster",
		},
		{
			kind: externalModel, name: "endpoint leads out of the cluster", field: "spec.endpoint",
			accepts: []any{"local.example.com", "api.mylocal", "svc.example.com"},
			refuses: []any{"a.localhost", "printer.local", "minio.storage.svc", "minio.storage.svc.cluster.local", "metadata.google.internal", "A.LocalHost"},
			message: "endpoint must not end in localhost, local, svc or internal: such names lead into the cluster or to its nodes",
		},
		{
			kind: externalModel, name: "targetModel means nothing to a gateway", field: "spec.targetModel", covers: []string{"pattern"},
			accepts: []any{"gpt-4o", "us.anthropic.claude-v1:0", "meta-llama/Llama-3.1-8B", "@cf/meta/llama", "my model", "a"},
			refuses: []any{"x'", `a' || '1' == '1`, `gpt\u002d4`, `"gpt"`, "gpt\n", " gpt", "gpt ", "größer"},
			message: "spec.targetModel in body should match '^[A-Za-z0-9._:/@+~\\-]([A-Za-z0-9 ._:/@+~\\-]*[A-Za-z0-9._:/@+~\\-])?$'",
		},
		{
			kind: externalModel, name: "pathPrefix is a path", field: "spec.pathPrefix", covers: []string{"pattern"},
			accepts: []any{"/", "/openai", "/v1/", "/a-b_c.d~e/F", absent{}},
			refuses: []any{"openai", "//", "/a//b", "/a?b", "/a b", "/a%2fb", "/a\n"},
			message: "spec.pathPrefix in body should match '^/([A-Za-z0-9._~\\-]+(/[A-Za-z0-9._~\\-]+)*/?)?$'",
		},
		{
			kind: externalModel, name: "pathPrefix does not go up", field: "spec.pathPrefix",
			accepts: []any{"/...", "/a/.b/c.", "/..a"},
			refuses: []any{"/..", "/a/../b", "/.", "/a/./"},
			message: "pathPrefix must not have a segment that is . or ..",
		},
	}
}

func tenantRules() []rule {
	const (
		length = "the name of an AITenant must be at most 41 characters long, because names of the tenant's objects are made from it"
		label  = "the name of an AITenant must be a DNS label: lower case letters, digits and -, without dots, starting and ending with a letter or digit"
	)
	rows := []rule{
		{
			kind: aiTenant, name: "name has at most 41 characters", field: "metadata.name", root: true,
			accepts: []any{strings.Repeat("t", 41)},
			refuses: []any{strings.Repeat("t", 42)},
			message: length,
		},
		{
			kind: aiTenant, name: "name is a DNS label", field: "metadata.name", root: true,
			accepts: []any{"red-2", "2red"},
			refuses: []any{"red.blue"},
			message: label,
		},
		{
			kind: aiTenant, name: "gateway name is a DNS label or empty", field: "spec.gateway.name", covers: []string{"pattern"},
			accepts: []any{"", absent{}, "gw-1"},
			refuses: []any{"Gw", "gw.x", "-gw"},
			message: "spec.gateway.name in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$'",
		},
		{
			kind: tenantConfig, name: "there is one per namespace", field: "metadata.name", root: true,
			accepts: []any{"default-tenant"},
			refuses: []any{"default", "other"},
			message: "MaasTenantConfig name must be default-tenant: there is one per tenant namespace",
		},
		{
			kind: tenantConfig, name: "infraNamespace is a DNS label or empty", field: "status.infraNamespace", covers: []string{"pattern"},
			accepts: []any{"", "infra"},
			refuses: []any{"Infra", "a.b"},
			message: "infraNamespace in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$'",
		},
		{
			kind: tenant, name: "there is one per namespace", field: "metadata.name", root: true,
			accepts: []any{"default-tenant"},
			refuses: []any{"default", "other"},
			message: "Tenant name must be default-tenant: there is one per tenant namespace",
		},
	}
	rows = append(rows, oidcRules(aiTenant, "spec.oidc")...)
	rows = append(rows, oidcRules(tenant, "spec.externalOIDC")...)
	for _, k := range []kind{tenantConfig, tenant} {
		const retention = "spec.apiKeys.deletionRetentionDays"
		rows = append(rows, rule{
			kind: k, name: "keys are retained for at least a day", field: retention, covers: []string{"minimum=1"},
			accepts: []any{absent{}, int64(1), int64(36500)},
			refuses: []any{int64(0), int64(-1)},
			message: retention + " in body should be greater than or equal to 1",
		})
	}
	return rows
}

func oidcRules(k kind, parent string) []rule {
	return []rule{
		{
			kind: k, name: "issuer is an https URL", field: parent + ".issuerUrl", covers: []string{"pattern"},
			accepts: []any{"https://x"},
			refuses: []any{"http://id.example.com", "https://id example", "https://id.example.com\n"},
			message: parent + ".issuerUrl in body should match '^https://\\S+$'",
		},
		{
			kind: k, name: "client id has no white space", field: parent + ".clientId", covers: []string{"pattern"},
			accepts: []any{"red-maas"},
			refuses: []any{"red maas", " ", "red\n"},
			message: parent + ".clientId in body should match '^\\S+$'",
		},
	}
}

func configRules() []rule {
	return []rule{
		{
			kind: config, name: "there is one", field: "metadata.name", root: true,
			accepts: []any{"default"},
			refuses: []any{"other", "default-tenant"},
			message: "Config name must be default",
		},
		{
			kind: config, name: "own egress rules and no policy exclude each other", field: "spec",
			accepts: []any{
				y(`{maasApiEgressNetworkPolicy: Disabled}`),
				y(`{networkPolicyEgressRules: [{}], networkPolicyAdditionalEgressRules: [{}]}`),
				y(`{maasApiEgressNetworkPolicy: Managed, networkPolicyEgressRules: [{}]}`),
				absent{},
			},
			refuses: []any{
				y(`{managementState: Managed, limitadorScrapeInterval: 30s, usageLogging: false, maasApiEgressNetworkPolicy: Disabled, networkPolicyEgressRules: [{}]}`),
				y(`{managementState: Managed, limitadorScrapeInterval: 30s, usageLogging: false, maasApiEgressNetworkPolicy: Disabled, networkPolicyAdditionalEgressRules: [{}]}`),
				y(`{managementState: Managed, limitadorScrapeInterval: 30s, usageLogging: false, maasApiEgressNetworkPolicy: Disabled, networkPolicyAdditionalEgressRules: []}`),
			},
			message: "networkPolicyEgressRules and networkPolicyAdditionalEgressRules must not be set when maasApiEgressNetworkPolicy is Disabled",
		},
		{
			kind: config, name: "scrape interval is a duration", field: "spec.limitadorScrapeInterval", covers: []string{"pattern"},
			accepts: []any{absent{}, "30s", "1m30s", "500ms", "1.5h"},
			refuses: []any{"30", "1d", "-1s", "s", ""},
			message: `spec.limitadorScrapeInterval in body should match '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$'`,
		},
		{
			kind: config, name: "at least one egress rule", field: "spec.networkPolicyEgressRules", covers: []string{"minItems=1"},
			accepts: []any{absent{}, y(`[{}]`)},
			refuses: []any{y(`[]`)},
			message: "spec.networkPolicyEgressRules in body should have at least 1 items",
		},
		{
			kind: config, name: "the installation is there or not", field: "spec.managementState", covers: []string{"enum"},
			accepts: []any{absent{}, "Managed", "Removed"},
			refuses: []any{"Unmanaged", "removed", ""},
			message: `spec.managementState: Unsupported value: `,
		},
	}
}

func inferenceRules() []rule {
	const binding = "spec.externalProviderRefs[0]"
	return []rule{
		{
			kind: inferenceModel, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{externalProviderRefs: [{ref: {name: p}, targetModel: m, apiFormat: messages, path: /}]}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.externalProviderRefs",
		},
		{
			kind: inferenceModel, name: "path starts with a slash", field: binding + ".path", covers: []string{"pattern"},
			accepts: []any{"/", "/v1/{region}/chat"},
			refuses: []any{"v1/chat"},
			message: binding + ".path in body should match '^/.*'",
		},
		{
			kind: inferenceModel, name: "weight 0 disables, below is refused", field: binding + ".weight", covers: []string{"minimum=0"},
			accepts: []any{absent{}, int64(0), int64(100)},
			refuses: []any{int64(-1)},
			message: binding + ".weight in body should be greater than or equal to 0",
		},
		{
			kind: inferenceModel, name: "all auth types of the owner are known", field: binding + ".auth.type", covers: []string{"enum"},
			accepts: []any{"apikey", "simple", "sigv4", "oauth2"},
			refuses: []any{"basic", ""},
			message: binding + ".auth.type: Unsupported value",
		},
		{
			kind: inferenceModel, name: "provider reference is a DNS label", field: binding + ".ref.name", covers: []string{"pattern"},
			accepts: []any{"openai-1"},
			refuses: []any{"OpenAI", "a.b"},
			message: binding + ".ref.name in body should match '" + labelPattern + "'",
		},
		{
			kind: inferenceModel, name: "secret reference is a DNS label", field: binding + ".auth.secretRef.name", covers: []string{"pattern"},
			accepts: []any{"openai-1"},
			refuses: []any{"OpenAI", "a.b"},
			message: binding + ".auth.secretRef.name in body should match '" + labelPattern + "'",
		},
		{
			kind: inferenceProvider, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{provider: p, endpoint: a.b, auth: {type: oauth2, secretRef: {name: s}}}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.provider, spec.endpoint and spec.auth",
		},
		{
			kind: inferenceProvider, name: "endpoint is a host name of two labels", field: "spec.endpoint", covers: []string{"pattern"},
			accepts: []any{"api.openai.com", "a.b"},
			refuses: []any{"host", "https://api.openai.com", "api.openai.com:443", "api.openai.com/v1"},
			message: "spec.endpoint in body should match '" + hostname + "+$'",
		},
		{
			kind: inferenceProvider, name: "secret reference is a DNS label", field: "spec.auth.secretRef.name", covers: []string{"pattern"},
			accepts: []any{"openai-1"},
			refuses: []any{"OpenAI", "a.b"},
			message: "spec.auth.secretRef.name in body should match '" + labelPattern + "'",
		},
	}
}
