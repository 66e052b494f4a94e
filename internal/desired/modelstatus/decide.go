// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelstatus

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// value is a condition without type, generation and time.
type value struct {
	status  metav1.ConditionStatus
	reason  v1alpha1.ConditionReason
	message string
}

func holds(reason v1alpha1.ConditionReason, message string) value {
	return value{metav1.ConditionTrue, reason, message}
}

func fails(reason v1alpha1.ConditionReason, message string) value {
	return value{metav1.ConditionFalse, reason, message}
}

func unknown(reason v1alpha1.ConditionReason, message string) value {
	return value{metav1.ConditionUnknown, reason, message}
}

// Conditions are the types that [Decide] evaluates.
func Conditions() []v1alpha1.ConditionType {
	return []v1alpha1.ConditionType{
		v1alpha1.ConditionReady, v1alpha1.ConditionRuntimeReady, v1alpha1.ConditionGovernanceAttached, v1alpha1.ConditionModelIdentityUnique,
	}
}

// Decide computes the status. Every condition is evaluated whatever the phase, so
// that none is left over from an earlier state.
func Decide(f Facts) Verdict {
	if f.SpecMissing {
		missing := "spec is required: set spec.modelRef.kind and spec.modelRef.name."
		return Verdict{
			Phase:      v1alpha1.ModelPhaseInvalid,
			Conditions: []metav1.Condition{f.condition(v1alpha1.ConditionReady, fails(v1alpha1.ReasonInvalidSpec, missing))},
		}
	}
	phase, ready := f.servable()
	v := Verdict{
		Phase: phase,
		Conditions: []metav1.Condition{
			f.condition(v1alpha1.ConditionReady, ready),
			f.condition(v1alpha1.ConditionRuntimeReady, f.runtime()),
			f.condition(v1alpha1.ConditionGovernanceAttached, f.governance()),
			f.condition(v1alpha1.ConditionModelIdentityUnique, f.identity()),
		},
	}
	if phase == v1alpha1.ModelPhaseReady {
		v.Endpoint, v.BaseURL = cmp.Or(f.Override, f.URLs.Endpoint), f.URLs.Base
	}
	return v
}

func (f Facts) condition(name v1alpha1.ConditionType, v value) metav1.Condition {
	return metav1.Condition{
		Type: string(name), Status: v.status, Reason: string(v.reason), Message: v.message, ObservedGeneration: f.Generation,
	}
}

// servable derives phase and Ready: whether a request to the model would be
// answered, governance aside.
func (f Facts) servable() (v1alpha1.ModelPhase, value) {
	if f.Tenant.Problem != "" {
		return v1alpha1.ModelPhaseFailed, fails(v1alpha1.ConditionReason(f.Tenant.Reason), f.Tenant.Problem)
	}
	if reason, message := f.backendAbsent(); reason != "" {
		return v1alpha1.ModelPhaseFailed, fails(reason, message)
	}
	if phase, v, ok := f.routeProblem(); ok {
		return phase, v
	}
	switch {
	case f.Backend.State != BackendReady:
		return v1alpha1.ModelPhaseUnhealthy, fails(v1alpha1.ReasonBackendNotReady, f.backendNotReady())
	case f.URLs.Endpoint == "" && f.Override == "":
		return v1alpha1.ModelPhasePending, fails(v1alpha1.ReasonEndpointUnknown, fmt.Sprintf(
			"HTTPRoute %s and Gateway %s name no host under which clients could reach the model (wildcards and hosts of other gateways do not count): set a hostname in the route or the Gateway's listener, or spec.endpointOverride.",
			f.routeKey(), f.Tenant.Gateway))
	default:
		return v1alpha1.ModelPhaseReady, holds(v1alpha1.ReasonReconciled, "")
	}
}

// backendAbsent says why there is no backend, or returns an empty reason.
func (f Facts) backendAbsent() (v1alpha1.ConditionReason, string) {
	switch f.Backend.State {
	case BackendUnsupported:
		return v1alpha1.ReasonUnsupported, fmt.Sprintf("spec.modelRef.kind %q is not supported: use %s or %s.",
			f.Backend.Kind, v1alpha1.BackendLLMInferenceService, v1alpha1.BackendExternalModel)
	case BackendNotInstalled:
		return v1alpha1.ReasonDependencyMissing, fmt.Sprintf("The cluster does not serve %s: install the operator that provides it.", f.Backend.Kind)
	case BackendMissing:
		return v1alpha1.ReasonBackendNotFound, f.backendMissing()
	default:
		return "", ""
	}
}

// backendMissing names every place where the backend could have been.
func (f Facts) backendMissing() string {
	where := "does not exist in namespace " + f.Namespace
	if f.Backend.Kind == v1alpha1.BackendExternalModel {
		where += fmt.Sprintf(", neither in API group %s nor in %s", inferencev1alpha1.GroupName, v1alpha1.GroupName)
	}
	return fmt.Sprintf("%s %s %s: create it, or correct spec.modelRef.", f.Backend.Kind, f.Backend.Name, where)
}

func (f Facts) routeProblem() (v1alpha1.ModelPhase, value, bool) {
	r := f.Route
	switch {
	case r.Object == nil:
		return v1alpha1.ModelPhasePending, fails(v1alpha1.ReasonRouteNotFound, f.routeMissing()+f.backendComplaint()), true
	case !r.Attached:
		found := "no Gateway"
		if r.Gateway.Name != "" {
			found = "Gateway " + r.Gateway.String()
		}
		return v1alpha1.ModelPhaseFailed, fails(v1alpha1.ReasonRouteNotAccepted, fmt.Sprintf(
			"HTTPRoute %s does not reference Gateway %s, the gateway of the model's tenant, but %s: add that Gateway to spec.parentRefs of the route, or name the other gateway's tenant in spec.tenantRef.", f.routeKey(), f.Tenant.Gateway, found)), true
	case r.Acceptance.State == metav1.ConditionFalse:
		return v1alpha1.ModelPhasePending, fails(v1alpha1.ReasonRouteNotAccepted, fmt.Sprintf(
			"Gateway %s does not serve HTTPRoute %s: %s", r.Gateway, f.routeKey(), words(r.Acceptance.Reason, r.Acceptance.Message))), true
	case r.Acceptance.State != metav1.ConditionTrue:
		return v1alpha1.ModelPhasePending, fails(v1alpha1.ReasonRouteNotAccepted, fmt.Sprintf(
			"Gateway %s has not accepted HTTPRoute %s yet.", r.Gateway, f.routeKey())), true
	default:
		return "", value{}, false
	}
}

// routeMissing says where the route is to come from.
func (f Facts) routeMissing() string {
	missing := fmt.Sprintf("%s %s has no HTTPRoute in namespace %s yet: ", f.Backend.Kind, f.Backend.Name, f.Namespace)
	if f.Backend.Kind == v1alpha1.BackendExternalModel {
		return missing + "see what the status of the ExternalModel says."
	}
	return missing + "KServe makes one when the service has spec.router.route, and spec.router.route.http.refs may name one of your own."
}

func (f Facts) routeKey() string { return f.Route.Object.Namespace + "/" + f.Route.Object.Name }

// runtime shows the backend's own word beside ours, even when they differ.
func (f Facts) runtime() value {
	if reason, message := f.backendAbsent(); reason != "" {
		return fails(v1alpha1.ReasonRuntimeHealthFailure, message)
	}
	if f.Backend.State != BackendReady {
		return fails(v1alpha1.ReasonRuntimeHealthFailure, f.backendNotReady())
	}
	if f.Backend.Reason != "" || f.Backend.Message != "" {
		return holds(v1alpha1.ReasonRuntimeHealthy, fmt.Sprintf(
			"The workloads of %s %s are ready, although it does not call itself ready because of its view of gateways and routes: %s",
			f.Backend.Kind, f.Backend.Name, words(f.Backend.Reason, f.Backend.Message)))
	}
	return holds(v1alpha1.ReasonRuntimeHealthy, "")
}

func (f Facts) backendNotReady() string {
	return fmt.Sprintf("%s %s is not ready.", f.Backend.Kind, f.Backend.Name) + f.backendComplaint()
}

// backendComplaint quotes the backend when it has something to say.
func (f Facts) backendComplaint() string {
	if f.Backend.Reason == "" && f.Backend.Message == "" {
		return ""
	}
	return " It reports: " + words(f.Backend.Reason, f.Backend.Message)
}

// words joins somebody else's reason and message.
func words(reason, message string) string {
	switch {
	case message == "":
		return cmp.Or(reason, "no reason given")
	case reason == "":
		return message
	default:
		return reason + ": " + message
	}
}

// governance names the missing half. A gap stays a gap until it is closed, so that
// "there was a pair once" is not forgotten at the next event.
func (f Facts) governance() value {
	if f.Tenant.Problem != "" {
		return unknown(v1alpha1.ConditionReason(f.Tenant.Reason), "It cannot be told which policies and subscriptions count for the model, because its tenant is not known.")
	}
	reason := v1alpha1.ReasonNoPairingFound
	before := meta.FindStatusCondition(f.Previous, string(v1alpha1.ConditionGovernanceAttached))
	if before != nil && (before.Status == metav1.ConditionTrue || before.Reason == string(v1alpha1.ReasonGovernanceGap)) {
		reason = v1alpha1.ReasonGovernanceGap
	}
	const noPolicy = "No MaaSAuthPolicy of the model's tenant refers to the model, so nobody may call it: create one, or add the model to spec.modelRefs of one."
	const noSubscription = "No MaaSSubscription of the model's tenant refers to the model, so nobody has tokens for it: create one, or add the model to spec.modelRefs of one."
	switch {
	case f.Governance.Granted && f.Governance.Subscribed:
		return holds(v1alpha1.ReasonGovernancePaired, "")
	case f.Governance.Subscribed:
		return fails(reason, noPolicy)
	case f.Governance.Granted:
		return fails(reason, noSubscription)
	default:
		return fails(reason, noPolicy+" "+noSubscription)
	}
}

// aliasMissing says that nothing is broken: most gateways tell models apart by path.
func (f Facts) aliasMissing() string {
	return fmt.Sprintf("%s %s publishes no name under which a request body could select the model, so clients use the path in status.endpoint. To have one, use a KServe that routes by the body: it lists the name in status.addresses[].models of the service.",
		f.Backend.Kind, f.Backend.Name)
}

func (f Facts) identity() value {
	switch {
	case f.Identity.Alias == "":
		return unknown(v1alpha1.ReasonAliasNotResolved, f.aliasMissing())
	case len(f.Identity.Siblings) == 0:
		return holds(v1alpha1.ReasonUniqueIdentity, "")
	default:
		return fails(v1alpha1.ReasonModelNameConflict, conflict(f.Namespace, f.Identity))
	}
}
