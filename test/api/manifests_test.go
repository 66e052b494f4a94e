// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import "k8s.io/apimachinery/pkg/runtime"

// manifest returns a valid object of the kind in which every field is set once, so
// that each rule has something to apply to.
func manifest(k kind) map[string]any {
	return runtime.DeepCopyJSON(y(manifests[k]).(map[string]any))
}

var manifests = map[kind]string{
	modelRef: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSModelRef
metadata: {name: granite}
spec:
  modelRef: {kind: LLMInferenceService, name: granite}
  endpointOverride: https://models.example.com/llm/granite
  tenantRef: red
status:
  observedGeneration: 1
  phase: Ready
  endpoint: https://maas.example.com/llm/granite
  baseURL: https://maas.example.com
  httpRouteName: granite
  httpRouteNamespace: llm
  httpRouteGatewayName: maas-default-gateway
  httpRouteGatewayNamespace: openshift-ingress
  httpRouteHostnames: [maas.example.com]
  resolvedTenantRef: red
  tenant: red
  resolvedModelAlias: granite
`,
	authPolicy: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSAuthPolicy
metadata: {name: readers}
spec:
  modelRefs:
  - {name: granite, namespace: llm}
  subjects:
    groups: [{name: "system:authenticated"}]
    users: [alice]
  meteringMetadata:
    organizationId: acme
    costCenter: cc-42
    labels: {team: red}
status:
  observedGeneration: 1
  phase: Active
  authPolicies:
  - name: maas-auth-granite
    namespace: llm
    ready: true
    reason: AcceptedEnforced
    message: The AuthPolicy is enforced.
    model: granite
    modelNamespace: llm
`,
	subscription: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSSubscription
metadata: {name: gold}
spec:
  owner:
    groups: [{name: data-scientists}]
    users: ["system:serviceaccount:apps:bot"]
  modelRefs:
  - name: granite
    namespace: llm
    tokenRateLimits:
    - {limit: 1000, window: 1m}
    billingRate: {perToken: "0.0000025"}
  tokenMetadata:
    organizationId: acme
    costCenter: cc-42
    labels: {team: red}
  priority: 10
status:
  observedGeneration: 1
  phase: Active
  rateLimitIdentity: short
  modelRefStatuses:
  - {name: granite, namespace: llm, ready: true, reason: Valid, message: Found.}
  tokenRateLimitStatuses:
  - {name: maas-trlp-granite, namespace: llm, ready: true, reason: AcceptedEnforced, message: Enforced., model: granite}
`,
	externalModel: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: ExternalModel
metadata: {name: gpt}
spec:
  provider: openai
  targetModel: gpt-4o
  endpoint: api.openai.com
  credentialRef: {name: openai}
status:
  observedGeneration: 1
  phase: Ready
`,
	aiTenant: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: AITenant
metadata: {name: red}
spec:
  gateway: {name: red-gateway}
  oidc: {issuerUrl: "https://id.example.com/realms/red", clientId: red-maas, ttl: 300}
  rbac:
    admins:
    - {kind: ServiceAccount, name: bot, namespace: apps}
status:
  observedGeneration: 1
  phase: Active
  tenantNamespace: ai-tenant-red
  gatewayRef: {namespace: openshift-ingress, name: red-gateway}
`,
	tenantConfig: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaasTenantConfig
metadata: {name: default-tenant}
spec:` + tenantSettings + `
status:
  observedGeneration: 1
  phase: Active
  infraNamespace: odh-ai-gateway-infra
  inventory:
  - {group: apps, kind: Deployment, namespace: odh-ai-gateway-infra, name: maas-api}
`,
	tenant: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: Tenant
metadata: {name: default-tenant}
spec:
  gatewayRef: {namespace: openshift-ingress, name: maas-default-gateway}
  externalOIDC: {issuerUrl: "https://id.example.com/realms/red", clientId: red-maas, ttl: 300}` + tenantSettings + `
status:
  observedGeneration: 1
  phase: Active
`,
	config: `
apiVersion: maas.opendatahub.io/v1alpha1
kind: Config
metadata: {name: default}
spec:
  managementState: Managed
  limitadorScrapeInterval: 1m30s
  usageLogging: true
  maasApiEgressNetworkPolicy: Managed
  networkPolicyEgressRules:` + egressRules + `
  networkPolicyAdditionalEgressRules:` + egressRules + `
status:
  observedGeneration: 1
  inventory:
  - {group: networking.k8s.io, kind: NetworkPolicy, namespace: odh-ai-gateway-infra, name: maas-api-allow-gateway}
`,
	inferenceModel: `
apiVersion: inference.opendatahub.io/v1alpha1
kind: ExternalModel
metadata: {name: gpt}
spec:
  modelName: gpt
  externalProviderRefs:
  - ref: {name: openai}
    targetModel: gpt-4o
    apiFormat: openai-chat
    path: /v1/chat/completions
    weight: 0
    config: {region: eu}
    auth: {type: apikey, secretRef: {name: openai}}
status:
  observedGeneration: 1
  phase: Ready
  httpRouteName: gpt
`,
	inferenceProvider: `
apiVersion: inference.opendatahub.io/v1alpha1
kind: ExternalProvider
metadata: {name: openai}
spec:
  provider: openai
  endpoint: api.openai.com
  auth: {type: apikey, secretRef: {name: openai}}
  config: {region: eu}
status:
  observedGeneration: 1
  phase: Ready
`,
}

const tenantSettings = `
  apiKeys: {maxExpirationDays: 30, deletionRetentionDays: 60}
  telemetry:
    enabled: true
    metrics: {captureOrganization: true, captureUser: false, captureGroup: false, captureModelUsage: true}
    logs: {captureUser: false, captureOrganization: true}
  payloadProcessing:
    replicas: 2
    autoscaling: {maxReplicas: 4, targetCPUUtilization: 60, targetMemoryUtilization: 60}`

const egressRules = `
  - to:
    - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}
    - namespaceSelector: {matchExpressions: [{key: tier, operator: In, values: [db]}]}
      podSelector: {matchExpressions: [{key: app, operator: Exists}]}
    ports:
    - {protocol: TCP, port: 5432}`
