// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels that link generated objects to what they were generated for.
const (
	// LabelModel: on the AuthPolicy and TokenRateLimitPolicy generated for a model:
	// the name of the MaaSModelRef.
	LabelModel = "maas.opendatahub.io/model"
	// LabelModelNamespace: on the same objects: the namespace of the MaaSModelRef.
	// On objects of earlier releases it may be missing and means the object's own
	// namespace.
	LabelModelNamespace = "maas.opendatahub.io/model-namespace"
	// LabelExternalModel: on objects made for an ExternalModel: its name.
	LabelExternalModel = "maas.opendatahub.io/external-model"
	// LabelTenantName: on the objects of a tenant: the tenant's name.
	LabelTenantName = "maas.opendatahub.io/tenant-name"
	// LabelTenantNamespace: on the objects of a tenant: the tenant's namespace.
	LabelTenantNamespace = "maas.opendatahub.io/tenant-namespace"
	// LabelManagedByAITenant: "true" on namespaces and objects an AITenant owns.
	LabelManagedByAITenant = "maas.opendatahub.io/managed-by-aitenant"
	// LabelTenant: on the namespace of a tenant: the name of the AITenant.
	LabelTenant = "ai-gateway.opendatahub.io/tenant"
	// LabelGatewayAccess: "true" on namespaces from which Gateways accept routes.
	LabelGatewayAccess = "maas.opendatahub.io/gateway-access"
	// LabelGatewayClaim: "true" on the ConfigMap by which an AITenant claims its
	// Gateway.
	LabelGatewayClaim = "maas.opendatahub.io/gateway-claim"
	// LabelTenantTombstone: "true" on the ConfigMap that remembers a deleted AITenant
	// until its API keys are revoked.
	LabelTenantTombstone = "maas.opendatahub.io/tenant-tombstone"
	// LabelTenantInstance: on the Pods of a tenant's Deployment: the name of the
	// Deployment. It tells the Pods of different tenants apart.
	LabelTenantInstance = "maas.opendatahub.io/tenant-instance"
	// LabelConfig: on the shared objects of the installation: the name of the Config.
	LabelConfig = "maas.opendatahub.io/config"
	// LabelModelsAsAService: "true" on all objects of tenants and of the installation,
	// for platforms that select by it.
	LabelModelsAsAService = "app.opendatahub.io/modelsasservice"
	// LabelGeneratedNamespace: "true" on namespaces that network policies of the
	// platform admit traffic from.
	LabelGeneratedNamespace = "opendatahub.io/generated-namespace"
	// LabelPayloadManaged: "true" on provider Secrets that payload processing may
	// read.
	LabelPayloadManaged = "inference.llm-d.ai/ipp-managed"
)

// The recommended labels of Kubernetes and the values the operator gives them.
const (
	// LabelManagedBy: the program that manages an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelPartOf: the application an object is part of.
	LabelPartOf = "app.kubernetes.io/part-of"
	// LabelComponent: the role of an object in its application.
	LabelComponent = "app.kubernetes.io/component"
	// LabelName: the application of an object.
	LabelName = "app.kubernetes.io/name"

	// ManagedByValue is the value of LabelManagedBy on everything the operator makes.
	ManagedByValue = "maas-controller"
	// ManagedByLegacyExternalModel is the value earlier releases gave objects made
	// for an ExternalModel.
	ManagedByLegacyExternalModel = "maas-external-model-reconciler"

	// PartOfAuthPolicy is the value of LabelPartOf on a model's AuthPolicy.
	PartOfAuthPolicy = "maas-auth-policy"
	// PartOfSubscription is the value of LabelPartOf on a model's
	// TokenRateLimitPolicy.
	PartOfSubscription = "maas-subscription"
	// PartOfGatewayAuth is the value of LabelPartOf on a Gateway's AuthPolicy.
	PartOfGatewayAuth = "maas-gateway-auth"
	// PartOfTenant is the value of LabelPartOf on what an AITenant owns.
	PartOfTenant = "modelsasservice"

	// PartOfMaaS is the value of LabelPartOf on the workload and the policies of a
	// tenant, and on the shared objects of the installation.
	PartOfMaaS = "models-as-a-service"
	// NameMaaSAPI is the value of LabelName on what belongs to maas-api.
	NameMaaSAPI = "maas-api"
	// ComponentAPI is the value of LabelComponent on the workload of maas-api.
	ComponentAPI = "api"
	// ComponentDefaultPolicy is the value of LabelComponent on the policies of a
	// Gateway itself.
	ComponentDefaultPolicy = "default-policy"
	// PartOfExternalModel is the value of LabelPartOf on what is made for an
	// ExternalModel.
	PartOfExternalModel = "maas-external-model"
	// ComponentExternalModel is the value of LabelComponent on the same objects.
	ComponentExternalModel = "external-model"
	// ComponentAuthPolicy is the value of LabelComponent on a model's AuthPolicy.
	ComponentAuthPolicy = "auth-policy"
	// ComponentTokenRateLimitPolicy is the value of LabelComponent on a model's
	// TokenRateLimitPolicy.
	ComponentTokenRateLimitPolicy = "token-rate-limit-policy"
	// ComponentTelemetry is the value of LabelComponent on what labels metrics.
	ComponentTelemetry = "telemetry"
	// NamePayloadProcessing is the value of LabelName, and of LabelComponent, on what
	// processes the payload of requests.
	NamePayloadProcessing = "payload-processing"
	// ComponentGatewayAuth is the value of LabelComponent on a Gateway's AuthPolicy.
	ComponentGatewayAuth = "gateway-auth"
)

// FieldOwner is the field manager of everything the operator applies.
const FieldOwner = "maas-controller"

// FieldOwnerNudge is the field manager of AnnotationNudgedAt, which is no part of what
// the operator applies.
const FieldOwnerNudge = "maas-controller-nudge"

// Annotations users may set.
const (
	// AnnotationManaged: when exactly "false" on a generated object, makes the operator
	// neither update nor delete the object.
	AnnotationManaged = "opendatahub.io/managed"
	// AnnotationPort: on an ExternalModel without spec.port: the provider's port, 1 to
	// 65535.
	AnnotationPort = "maas.opendatahub.io/port"
	// AnnotationTLS: on an ExternalModel without spec.tls: whether the provider speaks
	// TLS.
	AnnotationTLS = "maas.opendatahub.io/tls"
	// AnnotationManagementState: on a MaasTenantConfig: Managed (default), Unmanaged
	// or Removed.
	AnnotationManagementState = "component.opendatahub.io/management-state"
	// AnnotationMaasAPIReplicas: on a MaasTenantConfig: the replicas of maas-api, 1
	// to 100.
	AnnotationMaasAPIReplicas = "maas.opendatahub.io/maas-api-replicas"
	// AnnotationPayloadProcessingReplicas: the deprecated form of
	// spec.payloadProcessing.replicas of a MaasTenantConfig.
	AnnotationPayloadProcessingReplicas = "maas.opendatahub.io/payload-processing-replicas"
	// AnnotationAPIKeysRevoked: "true" on an AITenant being deleted tells the operator
	// that the tenant's API keys were revoked by hand.
	AnnotationAPIKeysRevoked = "maas.opendatahub.io/api-keys-revoked"
	// AnnotationDisplayName: a name for people, on MaaSModelRef, MaaSAuthPolicy and
	// MaaSSubscription.
	AnnotationDisplayName = "openshift.io/display-name"
	// AnnotationDescription: a text for people, on the same kinds.
	AnnotationDescription = "openshift.io/description"
	// AnnotationUseCase: on a MaaSModelRef: what the model is meant for.
	AnnotationUseCase = "opendatahub.io/genai-use-case"
	// AnnotationContextWindow: on a MaaSModelRef: the size of its context.
	AnnotationContextWindow = "opendatahub.io/context-window"
	// AnnotationModelCapabilities: on a MaaSModelRef: a JSON array of strings.
	AnnotationModelCapabilities = "opendatahub.io/model-capabilities"
)

// Annotations the operator writes.
const (
	// AnnotationAuthPolicies: on a generated AuthPolicy: the contributing
	// MaaSAuthPolicies as a list of <namespace>/<name>, separated by commas.
	AnnotationAuthPolicies = "maas.opendatahub.io/auth-policies"
	// AnnotationSubscriptions: on a generated TokenRateLimitPolicy: the contributing
	// MaaSSubscriptions as a list of <namespace>/<name>, separated by commas.
	AnnotationSubscriptions = "maas.opendatahub.io/subscriptions"
	// AnnotationAuthPolicyGenerations, on a generated AuthPolicy, says which
	// generation of each MaaSAuthPolicy it holds: <namespace>/<name>=<generation>,
	// separated by commas.
	AnnotationAuthPolicyGenerations = "maas.opendatahub.io/auth-policy-generations"
	// AnnotationExcludedSubscriptions: on a generated TokenRateLimitPolicy: the
	// MaaSSubscriptions that no longer fit into it as a list of <namespace>/<name>,
	// separated by commas.
	AnnotationExcludedSubscriptions = "maas.opendatahub.io/excluded-subscriptions"
	// AnnotationAITenantName: on what an AITenant owns: its name.
	AnnotationAITenantName = "maas.opendatahub.io/aitenant-name"
	// AnnotationAITenantNamespace: on what an AITenant owns: its namespace.
	AnnotationAITenantNamespace = "maas.opendatahub.io/aitenant-namespace"
	// AnnotationAITenantUID: on the key revocation Job: the UID of the AITenant.
	AnnotationAITenantUID = "maas.opendatahub.io/aitenant-uid"
	// AnnotationCreatedByAITenant: "true" on namespaces the operator created.
	AnnotationCreatedByAITenant = "maas.opendatahub.io/created-by-aitenant"
	// AnnotationGatewaySelectorLabels: on the infrastructure namespace: which label
	// was set for which Gateways, as JSON.
	AnnotationGatewaySelectorLabels = "maas.opendatahub.io/gateway-selector-labels"
	// AnnotationDefaultAITenantBootstrapped: "true" on the Config after the default
	// AITenant was created once.
	AnnotationDefaultAITenantBootstrapped = "maas.opendatahub.io/default-aitenant-bootstrapped"
	// AnnotationLegacyTenantMigrated: on an AITenant and its MaasTenantConfig: the UID
	// of the Tenant whose settings were copied into it. They are copied once.
	AnnotationLegacyTenantMigrated = "maas.opendatahub.io/legacy-tenant-migrated"
	// AnnotationDatabaseSecretVersion: on the Pods of maas-api: the resourceVersion of
	// the Secret with the database's address, so that a new one restarts them.
	AnnotationDatabaseSecretVersion = "maas.opendatahub.io/database-secret-version"
	// AnnotationMigratedFrom: on a copied Secret: the namespace it was copied from.
	AnnotationMigratedFrom = "maas.opendatahub.io/migrated-from"
	// AnnotationTeardownRequested: "true" on the operator's Deployment asks for what
	// spec.managementState: Removed of the Config asks for.
	AnnotationTeardownRequested = "maas.opendatahub.io/teardown-requested"
	// AnnotationTeardownCompleted: "true" on the operator's Deployment when that is
	// done.
	AnnotationTeardownCompleted = "maas.opendatahub.io/teardown-completed"
	// AnnotationLegacyMaaSAPIRemoved: "true" on the Config after the maas-api of an
	// earlier release was removed from the operator's own namespace.
	AnnotationLegacyMaaSAPIRemoved = "maas.opendatahub.io/legacy-maas-api-removed"
	// AnnotationLegacyMaaSAPIRightsRemoved: "true" on the Config after the ClusterRole
	// maas-api-supplemental of an earlier release and its binding were removed.
	AnnotationLegacyMaaSAPIRightsRemoved = "maas.opendatahub.io/legacy-maas-api-rights-removed"
	// AnnotationLegacyMonitoringRemoved: "true" on the Config after what an earlier
	// release made for usage logs and metrics, and nothing replaces, was removed.
	AnnotationLegacyMonitoringRemoved = "maas.opendatahub.io/legacy-monitoring-removed"
	// AnnotationOpenedRoute: on a generated HTTPRoute: the UID of the HTTPRoute that the
	// operator has let lead somewhere, once its policies were enforced; "none" before. On
	// one with another UID, out of a backup for example, it means the same as none.
	AnnotationOpenedRoute = "maas.opendatahub.io/opened-route"
	// AnnotationNudgedAt: on a generated HTTPRoute: when the operator last gave Kuadrant a
	// reason to judge all policies, because some were not enforced for long. Nothing reads
	// it.
	AnnotationNudgedAt = "maas.opendatahub.io/nudged-at"
	// AnnotationDeprecatedBy: on a migrated Tenant: the kind that replaces it.
	AnnotationDeprecatedBy = "maas.opendatahub.io/deprecated-by"
	// AnnotationMigratedTo: on a migrated Tenant: the name of what replaces it.
	AnnotationMigratedTo = "maas.opendatahub.io/migrated-to"
)

// Finalizers.
const (
	// FinalizerModelCleanup: on every MaaSModelRef until its generated policies are
	// removed.
	FinalizerModelCleanup = "maas.opendatahub.io/model-cleanup"
	// FinalizerAITenantCleanup: on every AITenant until the tenant is taken down.
	FinalizerAITenantCleanup = "maas.opendatahub.io/aitenant-cleanup"
	// FinalizerTenantCleanup: on a MaasTenantConfig until its services are removed.
	FinalizerTenantCleanup = "maas.opendatahub.io/tenant-cleanup"
	// FinalizerExternalModelCleanup: on every ExternalModel until another one of the same
	// host has taken over what they share.
	FinalizerExternalModelCleanup = "maas.opendatahub.io/external-model-cleanup"
	// FinalizerAuthPolicyCleanup: put on MaaSAuthPolicies by earlier releases; it is
	// only removed.
	FinalizerAuthPolicyCleanup = "maas.opendatahub.io/authpolicy-cleanup"
	// FinalizerSubscriptionCleanup: put on MaaSSubscriptions by earlier releases; it
	// is evidence of an upgrade and then removed.
	FinalizerSubscriptionCleanup = "maas.opendatahub.io/subscription-cleanup"
	// FinalizerLegacyTenant: put on Tenants by earlier releases; it is only removed.
	FinalizerLegacyTenant = "maas.opendatahub.io/tenant-finalizer"
	// FinalizerLegacyDeployment: put on the operator's Deployment by earlier releases;
	// it is only removed.
	FinalizerLegacyDeployment = "maas.opendatahub.io/cleanup"
)

// Names that are fixed by contract.
const (
	// DefaultTenantConfigName is the only name of a MaasTenantConfig and a Tenant.
	DefaultTenantConfigName = "default-tenant"
	// DefaultAITenantName is the name of the AITenant the operator creates, and of its
	// tenant.
	DefaultAITenantName = "models-as-a-service"
	// ControllerDeploymentName is the name of the operator's Deployment.
	ControllerDeploymentName = "maas-controller"
	// DatabaseSecretName is the name of the Secret with the database's address, in the
	// infrastructure namespace.
	DatabaseSecretName = "maas-db-config"
	// CredentialSecretKey is the key, in the Secret that an ExternalModel names, with the
	// provider's API key.
	CredentialSecretKey = "api-key"
	// DatabaseSecretKey is the key in it that holds the address.
	DatabaseSecretKey = "DB_CONNECTION_URL"
)
