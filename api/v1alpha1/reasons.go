// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionReason is the reason of a condition or of an entry in a status list. New
// reasons may be added in any release: programs must accept unknown ones.
type ConditionReason string

// Reasons of the status of MaaSModelRef, MaaSAuthPolicy, MaaSSubscription and their
// entries.
const (
	// ReasonReconciled: the object does what its spec says.
	ReasonReconciled ConditionReason = "Reconciled"
	// ReasonReconcileFailed: none of the object's models works, or an error prevents
	// the evaluation.
	ReasonReconcileFailed ConditionReason = "ReconcileFailed"
	// ReasonPartialFailure: some of the object's models do not work.
	ReasonPartialFailure ConditionReason = "PartialFailure"
	// ReasonValid: the reference is good.
	ReasonValid ConditionReason = "Valid"
	// ReasonNotFound: the object referred to does not exist.
	ReasonNotFound ConditionReason = "NotFound"
	// ReasonGetFailed: the object referred to could not be read.
	ReasonGetFailed ConditionReason = "GetFailed"
	// ReasonAccepted: the entry was edited; the gateway enforces its former limits
	// until it has taken up the new ones.
	ReasonAccepted ConditionReason = "Accepted"
	// ReasonAcceptedEnforced: the generated policy is accepted and enforced.
	ReasonAcceptedEnforced ConditionReason = "AcceptedEnforced"
	// ReasonNotAccepted: the policy engine refuses the generated policy.
	ReasonNotAccepted ConditionReason = "NotAccepted"
	// ReasonEnforced: the generated policy is enforced.
	ReasonEnforced ConditionReason = "Enforced"
	// ReasonNotEnforced: the generated policy is not enforced.
	ReasonNotEnforced ConditionReason = "NotEnforced"
	// ReasonBackendNotReady: the model's backend or route is not ready.
	ReasonBackendNotReady ConditionReason = "BackendNotReady"
	// ReasonConditionsNotFound: the generated policy has no status yet.
	ReasonConditionsNotFound ConditionReason = "ConditionsNotFound"
	// ReasonInvalidSpec: the spec is missing, or the entry cannot be enforced.
	ReasonInvalidSpec ConditionReason = "InvalidSpec"
	// ReasonUnknown: not evaluated yet.
	ReasonUnknown ConditionReason = "Unknown"
	// ReasonUnsupported: this kind of backend is not supported.
	ReasonUnsupported ConditionReason = "Unsupported"
	// ReasonForeignTenant: the model belongs to another tenant.
	ReasonForeignTenant ConditionReason = "ForeignTenant"
	// ReasonTenantNotReady: the tenant of the namespace is not set up.
	ReasonTenantNotReady ConditionReason = "TenantNotReady"
	// ReasonOptedOut: the generated policy is annotated opendatahub.io/managed "false".
	ReasonOptedOut ConditionReason = "OptedOut"
	// ReasonTooManyMembers: the generated policy is full.
	ReasonTooManyMembers ConditionReason = "TooManyMembers"
	// ReasonDependencyMissing: an API the object needs is not installed.
	ReasonDependencyMissing ConditionReason = "DependencyMissing"
)

// Reasons of the conditions of a MaaSModelRef.
const (
	// ReasonGovernancePaired: a MaaSAuthPolicy and a MaaSSubscription refer to the model.
	ReasonGovernancePaired ConditionReason = "GovernancePaired"
	// ReasonGovernanceGap: there was such a pair, and one half is gone.
	ReasonGovernanceGap ConditionReason = "GovernanceGap"
	// ReasonNoPairingFound: there never was such a pair.
	ReasonNoPairingFound ConditionReason = "NoPairingFound"
	// ReasonRuntimeHealthy: the backend is ready.
	ReasonRuntimeHealthy ConditionReason = "RuntimeHealthy"
	// ReasonRuntimeHealthFailure: the backend is not ready.
	ReasonRuntimeHealthFailure ConditionReason = "RuntimeHealthFailure"
	// ReasonBackendNotFound: the backend does not exist.
	ReasonBackendNotFound ConditionReason = "BackendNotFound"
	// ReasonRouteNotFound: the model has no HTTPRoute yet.
	ReasonRouteNotFound ConditionReason = "RouteNotFound"
	// ReasonRouteNotAccepted: the Gateway does not accept the HTTPRoute.
	ReasonRouteNotAccepted ConditionReason = "RouteNotAccepted"
	// ReasonEndpointUnknown: the route is accepted, but no host is known under which
	// clients could reach the model.
	ReasonEndpointUnknown ConditionReason = "EndpointUnknown"
	// ReasonUniqueIdentity: no other model of the namespace has the same alias.
	ReasonUniqueIdentity ConditionReason = "UniqueIdentity"
	// ReasonModelNameConflict: another model of the namespace has the same alias.
	ReasonModelNameConflict ConditionReason = "ModelNameConflict"
	// ReasonModelNameRefused: the name of the model at its provider has characters that
	// mean something to the gateway.
	ReasonModelNameRefused ConditionReason = "ModelNameRefused"
	// ReasonAliasNotResolved: the alias is not known yet.
	ReasonAliasNotResolved ConditionReason = "AliasNotResolved"
	// ReasonConflictCheckFailed: other objects could not be read for comparison.
	ReasonConflictCheckFailed ConditionReason = "ConflictCheckFailed"
	// ReasonRouteUnique: no other model has the same HTTPRoute.
	ReasonRouteUnique ConditionReason = "RouteUnique"
	// ReasonRouteConflict: the HTTPRoute belongs to another model.
	ReasonRouteConflict ConditionReason = "RouteConflict"
	// ReasonSubjectsInlined: the model's AuthPolicy contains all subjects.
	ReasonSubjectsInlined ConditionReason = "SubjectsInlined"
	// ReasonTooManySubjects: more subjects than an AuthPolicy can contain.
	ReasonTooManySubjects ConditionReason = "TooManySubjects"
	// ReasonSizeWithinBounds: the generated policies have room for more.
	ReasonSizeWithinBounds ConditionReason = "SizeWithinBounds"
	// ReasonSizeNearBound: the generated policies are nearly as large as they can be.
	ReasonSizeNearBound ConditionReason = "SizeNearBound"
	// ReasonInvalidOIDC: the tenant's OpenID Connect provider cannot be used as it is
	// configured.
	ReasonInvalidOIDC ConditionReason = "InvalidOIDC"
	// ReasonPoliciesApplied: the generated policies are as they should be.
	ReasonPoliciesApplied ConditionReason = "PoliciesApplied"
	// ReasonOverridden: Kuadrant enforces policies of somebody else in the place of the
	// generated ones.
	ReasonOverridden ConditionReason = "Overridden"
	// ReasonNoPolicies: nothing refers to the model, so it has no policies.
	ReasonNoPolicies ConditionReason = "NoPolicies"
	// ReasonForeignObject: an object that is not the operator's has the name of a
	// generated one.
	ReasonForeignObject ConditionReason = "ForeignObject"
	// ReasonApplyFailed: the cluster refused a generated object.
	ReasonApplyFailed ConditionReason = "ApplyFailed"
	// ReasonRenderFailed: a generated object could not be rendered.
	ReasonRenderFailed ConditionReason = "RenderFailed"
	// ReasonTenantNotFound: the AITenant in spec.tenantRef does not exist.
	ReasonTenantNotFound ConditionReason = "TenantNotFound"
)

// Reasons of further conditions of a MaaSAuthPolicy and a MaaSSubscription.
const (
	// ReasonNoConflict: no foreign AuthPolicy targets a route of the models.
	ReasonNoConflict ConditionReason = "NoConflict"
	// ReasonConflictDetected: a foreign AuthPolicy targets a route of the models.
	ReasonConflictDetected ConditionReason = "ConflictDetected"
	// ReasonSharedPriority: another subscription of the namespace has the priority.
	ReasonSharedPriority ConditionReason = "SharedPriority"
	// ReasonNoDuplicatePeers: no other subscription of the namespace has the priority.
	ReasonNoDuplicatePeers ConditionReason = "NoDuplicatePeers"
)

// Reasons of the conditions of an AITenant.
const (
	// ReasonInvalidPlacement: the AITenant is not in the operator's AITenant namespace.
	ReasonInvalidPlacement ConditionReason = "InvalidPlacement"
	// ReasonLegacyTenantMigrationFailed: a Tenant of an earlier release cannot be
	// migrated.
	ReasonLegacyTenantMigrationFailed ConditionReason = "LegacyTenantMigrationFailed"
	// ReasonGatewayCheckFailed: the Gateway does not exist or could not be read.
	ReasonGatewayCheckFailed ConditionReason = "GatewayCheckFailed"
	// ReasonGatewayClaimFailed: another tenant uses the Gateway.
	ReasonGatewayClaimFailed ConditionReason = "GatewayClaimFailed"
	// ReasonTenantNamespaceFailed: the tenant's namespace could not be made or taken
	// over.
	ReasonTenantNamespaceFailed ConditionReason = "TenantNamespaceFailed"
	// ReasonTenantNamespacePending: the tenant's namespace is not there yet.
	ReasonTenantNamespacePending ConditionReason = "TenantNamespacePending"
	// ReasonTenantConfigReconcileFailed: the MaasTenantConfig could not be made.
	ReasonTenantConfigReconcileFailed ConditionReason = "TenantConfigReconcileFailed"
	// ReasonTenantConfigNotReady: the MaasTenantConfig is not ready.
	ReasonTenantConfigNotReady ConditionReason = "TenantConfigNotReady"
	// ReasonRBACReconcileFailed: the tenant's Roles could not be made.
	ReasonRBACReconcileFailed ConditionReason = "RBACReconcileFailed"
	// ReasonInfraNamespaceLabelFailed: the infrastructure namespace could not be
	// labelled for the Gateway.
	ReasonInfraNamespaceLabelFailed ConditionReason = "InfraNamespaceLabelFailed"
	// ReasonDeletionInProgress: the tenant is being taken down.
	ReasonDeletionInProgress ConditionReason = "DeletionInProgress"
	// ReasonDeletionBlocked: a step of the deletion fails and is tried again.
	ReasonDeletionBlocked ConditionReason = "DeletionBlocked"
	// ReasonCleanupForced: the deletion took too long and was ended; keys may still
	// exist.
	ReasonCleanupForced ConditionReason = "CleanupForced"
	// ReasonRevocationJobCompleted: the tenant's API keys are revoked.
	ReasonRevocationJobCompleted ConditionReason = "RevocationJobCompleted"
)

// Reasons of the conditions of a MaasTenantConfig.
const (
	// ReasonManagementStateIdle: the tenant is annotated Unmanaged.
	ReasonManagementStateIdle ConditionReason = "ManagementStateIdle"
	// ReasonUnexpectedManagementState: the management state is not a known word.
	ReasonUnexpectedManagementState ConditionReason = "UnexpectedManagementState"
	// ReasonConfigMissing: there is no Config named default.
	ReasonConfigMissing ConditionReason = "ConfigMissing"
	// ReasonConfigTerminating: the Config is being deleted.
	ReasonConfigTerminating ConditionReason = "ConfigTerminating"
	// ReasonWaitingForConfigUID: the Config is not stored yet.
	ReasonWaitingForConfigUID ConditionReason = "WaitingForConfigUID"
	// ReasonWaitingForRemovedTeardown: the tenant is annotated Removed.
	ReasonWaitingForRemovedTeardown ConditionReason = "WaitingForRemovedTeardown"
	// ReasonInvalidGateway: the tenant's Gateway cannot be determined.
	ReasonInvalidGateway ConditionReason = "InvalidGateway"
	// ReasonGatewayNotReady: the tenant's Gateway does not exist.
	ReasonGatewayNotReady ConditionReason = "GatewayNotReady"
	// ReasonDependenciesNotAvailable: an API the tenant needs is not installed.
	ReasonDependenciesNotAvailable ConditionReason = "DependenciesNotAvailable"
	// ReasonDependenciesMet: the APIs the tenant needs are installed.
	ReasonDependenciesMet ConditionReason = "DependenciesMet"
	// ReasonDependenciesNotMet: not evaluated, because an API is missing.
	ReasonDependenciesNotMet ConditionReason = "DependenciesNotMet"
	// ReasonPrerequisitesMet: what the administrator must provide is there.
	ReasonPrerequisitesMet ConditionReason = "PrerequisitesMet"
	// ReasonPrerequisitesNotMet: the tenant waits for what is missing.
	ReasonPrerequisitesNotMet ConditionReason = "PrerequisitesNotMet"
	// ReasonPrerequisitesMissing: something the administrator must provide is missing.
	ReasonPrerequisitesMissing ConditionReason = "PrerequisitesMissing"
	// ReasonPrerequisitesWarning: something the administrator should provide is missing.
	ReasonPrerequisitesWarning ConditionReason = "PrerequisitesWarning"
	// ReasonInvalidReplicaAnnotation: an annotation is no number of replicas.
	ReasonInvalidReplicaAnnotation ConditionReason = "InvalidReplicaAnnotation"
	// ReasonGatewayConfigurationLarge: what Kuadrant generates for the tenant's Gateway
	// takes at least half of what a cluster stores of one object.
	ReasonGatewayConfigurationLarge ConditionReason = "GatewayConfigurationLarge"
	// ReasonGatewayConfigurationIncomplete: what Kuadrant generates for the tenant's
	// Gateway lacks models whose policies it calls enforced.
	ReasonGatewayConfigurationIncomplete ConditionReason = "GatewayConfigurationIncomplete"
	// ReasonGatewayConfigurationUnsafe: Kuadrant is set so that the tenant's Gateway lets
	// requests pass, or fails them, while what it asks does not answer in time.
	ReasonGatewayConfigurationUnsafe ConditionReason = "GatewayConfigurationUnsafe"
	// ReasonNotAvailable: the Pods of an add-on do not run yet.
	ReasonNotAvailable ConditionReason = "NotAvailable"
	// ReasonMultipleWarnings: there are warnings of several kinds.
	ReasonMultipleWarnings ConditionReason = "MultipleWarnings"
	// ReasonNoWarnings: there are no warnings.
	ReasonNoWarnings ConditionReason = "NoWarnings"
	// ReasonPlatformReconcileFailed: the tenant's services could not be applied.
	ReasonPlatformReconcileFailed ConditionReason = "PlatformReconcileFailed"
	// ReasonDeploymentsReady: the tenant's services run.
	ReasonDeploymentsReady ConditionReason = "DeploymentsReady"
	// ReasonDeploymentsNotReady: the tenant's services do not run yet.
	ReasonDeploymentsNotReady ConditionReason = "DeploymentsNotReady"
	// ReasonRemoved: the tenant is annotated Removed and nothing of it is left.
	ReasonRemoved ConditionReason = "Removed"
	// ReasonRemovalBlocked: an object of the tenant could not be removed.
	ReasonRemovalBlocked ConditionReason = "RemovalBlocked"
	// ReasonDependencyCheckFailed: it could not be told which APIs are installed.
	ReasonDependencyCheckFailed ConditionReason = "DependencyCheckFailed"
	// ReasonRouteAccepted: the Gateway accepts the HTTPRoute.
	ReasonRouteAccepted ConditionReason = "RouteAccepted"
	// ReasonRouteNotGuarded: the HTTPRoute leads nowhere until its AuthPolicy is
	// enforced on it.
	ReasonRouteNotGuarded ConditionReason = "RouteNotGuarded"
	// ReasonPoliciesEnforced: the policies are accepted and enforced.
	ReasonPoliciesEnforced ConditionReason = "PoliciesEnforced"
	// ReasonPoliciesNotEnforced: a policy is not accepted or not enforced.
	ReasonPoliciesNotEnforced ConditionReason = "PoliciesNotEnforced"
)

// Further reasons of the conditions of an AITenant.
const (
	// ReasonReservedName: the name would give an object of the tenant the name of
	// another one.
	ReasonReservedName ConditionReason = "ReservedName"
	// ReasonLegacyTenantMigrated: the settings of the Tenant were copied and verified,
	// and the Tenant was removed.
	ReasonLegacyTenantMigrated ConditionReason = "LegacyTenantMigrated"
	// ReasonLegacyTenantKept: the settings of the Tenant differ from what is in force;
	// it is kept until somebody decides.
	ReasonLegacyTenantKept ConditionReason = "LegacyTenantKept"
	// ReasonFormerKeysPending: an earlier tenant of the same name is gone, and its API
	// keys are not revoked yet.
	ReasonFormerKeysPending ConditionReason = "FormerKeysPending"
	// ReasonRevocationJobFailed: the Job that revokes the tenant's API keys failed; it
	// is tried again.
	ReasonRevocationJobFailed ConditionReason = "RevocationJobFailed"
)

// Reasons of the conditions of a Config.
const (
	// ReasonPlatformReady: the shared objects are as they should be.
	ReasonPlatformReady ConditionReason = "PlatformReady"
	// ReasonTeardownInProgress: tenants are being deleted, or keys of tenants that are
	// gone are being revoked.
	ReasonTeardownInProgress ConditionReason = "TeardownInProgress"
	// ReasonTeardownCompleted: nothing is left.
	ReasonTeardownCompleted ConditionReason = "TeardownCompleted"
	// ReasonNamespaceNotReady: a namespace of the installation is being deleted, or
	// could not be made.
	ReasonNamespaceNotReady ConditionReason = "NamespaceNotReady"
)

// Reasons of the conditions of an ExternalModel.
const (
	// ReasonHostAccepted: the provider's host may be led to.
	ReasonHostAccepted ConditionReason = "HostAccepted"
	// ReasonHostRefused: the provider's host is an address, or a name inside of the
	// cluster.
	ReasonHostRefused ConditionReason = "HostRefused"
	// ReasonCredentialAvailable: the Secret with the provider's API key is as payload
	// processing needs it.
	ReasonCredentialAvailable ConditionReason = "CredentialAvailable"
	// ReasonCredentialNotFound: there is no such Secret.
	ReasonCredentialNotFound ConditionReason = "CredentialNotFound"
	// ReasonCredentialIncomplete: the Secret has no data under the key api-key.
	ReasonCredentialIncomplete ConditionReason = "CredentialIncomplete"
	// ReasonCredentialNotLabelled: the Secret lacks the label by which payload processing
	// finds it.
	ReasonCredentialNotLabelled ConditionReason = "CredentialNotLabelled"
	// ReasonCredentialNotReadable: the operator may not read the Secret.
	ReasonCredentialNotReadable ConditionReason = "CredentialNotReadable"
	// ReasonCredentialNotGranted: payload processing may not read the Secret.
	ReasonCredentialNotGranted ConditionReason = "CredentialNotGranted"
	// ReasonSuperseded: an ExternalModel of the same name in the group
	// inference.opendatahub.io takes this one's place.
	ReasonSuperseded ConditionReason = "Superseded"
	// ReasonProviderNotFound: there is no such ExternalProvider.
	ReasonProviderNotFound ConditionReason = "ProviderNotFound"
	// ReasonAPIMissing: the cluster does not serve a kind that is needed.
	ReasonAPIMissing ConditionReason = "APIMissing"
)
