// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionType is the type of a status condition.
type ConditionType string

// Condition types, of all kinds unless said otherwise.
const (
	// ConditionReady is True when the object does what its spec says. For a
	// MaaSModelRef: the backend is ready behind an accepted route.
	ConditionReady ConditionType = "Ready"

	// ConditionGovernanceAttached, of a MaaSModelRef, is True when at least one
	// MaaSAuthPolicy and at least one MaaSSubscription refer to the model. Its message
	// names the missing half.
	ConditionGovernanceAttached ConditionType = "GovernanceAttached"
	// ConditionRuntimeReady, of a MaaSModelRef, is True when the backend is ready.
	ConditionRuntimeReady ConditionType = "RuntimeReady"
	// ConditionModelIdentityUnique, of a MaaSModelRef, is True when no other
	// MaaSModelRef of the namespace has the same model alias; of an ExternalModel, when no
	// older one has the same spec.targetModel, by which requests are told apart that name
	// the model in a header.
	ConditionModelIdentityUnique ConditionType = "ModelIdentityUnique"
	// ConditionRouteUnique, of a MaaSModelRef, is False when its HTTPRoute already
	// belongs to another MaaSModelRef; this one then gets no policies.
	ConditionRouteUnique ConditionType = "RouteUnique"
	// ConditionSubjectsInlined, of a MaaSModelRef, is False when the model has too many
	// subjects for its AuthPolicy; access is then decided by maas-api alone.
	ConditionSubjectsInlined ConditionType = "SubjectsInlined"
	// ConditionPolicySizeBounded, of a MaaSModelRef, is False when its subscriptions are
	// too many for its TokenRateLimitPolicy; the newest are then left out, say so in
	// their own status, and their callers are refused. It is True with reason
	// SizeNearBound when that is about to happen.
	ConditionPolicySizeBounded ConditionType = "PolicySizeBounded"
	// ConditionPoliciesApplied, of a MaaSModelRef, is True when the generated policies
	// are as they should be. It is False when one is opted out of management, when a
	// foreign policy is in the way or is enforced in the place of one, or when the
	// cluster refused one.
	ConditionPoliciesApplied ConditionType = "PoliciesApplied"

	// ConditionConflictingAuthPolicy, of a MaaSAuthPolicy, is True when a foreign
	// AuthPolicy targets the route of one of its models.
	ConditionConflictingAuthPolicy ConditionType = "ConflictingAuthPolicy"

	// ConditionSpecPriorityDuplicate, of a MaaSSubscription, is True when another
	// subscription of the namespace has the same priority.
	ConditionSpecPriorityDuplicate ConditionType = "SpecPriorityDuplicate"

	// ConditionDegraded, of a tenant, is True when it works with warnings.
	ConditionDegraded ConditionType = "Degraded"
	// ConditionAPIKeysRevoked, of an AITenant being deleted, is True when its API keys
	// are revoked.
	ConditionAPIKeysRevoked ConditionType = "APIKeysRevoked"
	// ConditionDependenciesAvailable, of a MaasTenantConfig, is True when the APIs it
	// needs are installed.
	ConditionDependenciesAvailable ConditionType = "DependenciesAvailable"
	// ConditionPrerequisitesAvailable, of a MaasTenantConfig, is True when what the
	// administrator must provide, such as the database Secret, is there.
	ConditionPrerequisitesAvailable ConditionType = "MaaSPrerequisitesAvailable"
	// ConditionDeploymentsAvailable, of a MaasTenantConfig, is True when the tenant's
	// services run.
	ConditionDeploymentsAvailable ConditionType = "DeploymentsAvailable"
	// ConditionRouteAccepted, of a MaasTenantConfig, is True when the tenant's Gateway
	// accepts the HTTPRoute of maas-api; of an ExternalModel, when the default tenant's
	// Gateway accepts the HTTPRoute of the model.
	ConditionRouteAccepted ConditionType = "RouteAccepted"
	// ConditionPoliciesEnforced, of a MaasTenantConfig, is True when the policies of
	// maas-api and of the Gateway itself are accepted and enforced.
	ConditionPoliciesEnforced ConditionType = "PoliciesEnforced"
	// ConditionTelemetryReady, of a MaasTenantConfig, is True when the usage metrics of
	// the tenant's Gateway are labelled as configured. Absent while telemetry is off.
	ConditionTelemetryReady ConditionType = "TelemetryReady"
	// ConditionPayloadProcessingReady, of a MaasTenantConfig, is True when the payload
	// processing of the tenant's Gateway is in place and runs. Absent where the
	// installation has none.
	ConditionPayloadProcessingReady ConditionType = "PayloadProcessingReady"
	// ConditionUsageLogsReady, of a MaasTenantConfig, is True when the tenant's Gateway
	// logs usage; of a Config, when what collects and serves the logs is in place.
	// Absent while usage logging is off.
	ConditionUsageLogsReady ConditionType = "UsageLogsReady"
	// ConditionMonitoringReady, of a Config, is True when the monitors, alerts and
	// dashboards of the installation are in place.
	ConditionMonitoringReady ConditionType = "MonitoringReady"
	// ConditionLegacyTenantRetired, of an AITenant, tells what became of the Tenant of
	// an earlier release: True when it was migrated and removed. Absent when there
	// never was one.
	ConditionLegacyTenantRetired ConditionType = "LegacyTenantRetired"

	// ConditionHostAccepted, of an ExternalModel, is True when the host of the provider
	// may be led to.
	ConditionHostAccepted ConditionType = "HostAccepted"
	// ConditionCredentialAvailable, of an ExternalModel, is True when the Secret with the
	// provider's API key is there and labelled for payload processing. It is Unknown when
	// the operator may not read it.
	ConditionCredentialAvailable ConditionType = "CredentialAvailable"

	// ConditionTeardownCompleted, of a Config, is True when everything was taken down
	// as asked for, and False while that is under way. Absent otherwise.
	ConditionTeardownCompleted ConditionType = "TeardownCompleted"
)
