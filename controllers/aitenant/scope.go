// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

// scope holds what one reconcile knows; every fact is read once.
type scope struct {
	// tenant is the object; its status is rewritten as the reconcile goes on. before is
	// what the API server holds as far as is known.
	tenant, before *v1alpha1.AITenant
	// namespace is the tenant's, also when it may not be made.
	namespace string
	// misplaced says why nothing may be made for the tenant: an [apperr.UserError], or
	// nil.
	misplaced error
	// wanted is the Gateway that the spec names, gateway the object; nil when it does
	// not exist.
	wanted  types.NamespacedName
	gateway *gwapiv1.Gateway
	// unclaimed says why the tenant may not have that Gateway: an [apperr.UserError], or
	// nil.
	unclaimed error
	// legacy is the Tenant of an earlier release; nil when there is none.
	legacy *v1alpha1.Tenant
	// config is the tenant's MaasTenantConfig as last seen; nil before it was read.
	config *v1alpha1.MaasTenantConfig

	// stopped ends the phases early, without an error.
	stopped bool
	// decided is false when a write met a newer object: the status stays then.
	decided bool
	// postponed are errors that did not keep the phases from going on.
	postponed error
	// gone is set when the finalizer was taken off: there is no status any more.
	gone bool
	// again is when to look again although nothing changed; 0 for never.
	again time.Duration
	// transitions are what the conditions made of the status.
	transitions []conditions.Transition
}

func newScope(t *v1alpha1.AITenant) *scope {
	return &scope{tenant: t, before: t.DeepCopy(), decided: true}
}

// key names the AITenant.
func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.tenant) }

// configKey names the tenant's MaasTenantConfig, and a Tenant of an earlier release.
func (s *scope) configKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: v1alpha1.DefaultTenantConfigName}
}

// stored takes in the API server's answer to a write of anything but the status. What
// was decided about the status stays.
func (s *scope) stored(answer *v1alpha1.AITenant) {
	status := s.tenant.Status
	s.tenant, s.before = answer, answer.DeepCopy()
	s.tenant.Status = status
}

// say sets the phase and the condition Ready.
func (s *scope) say(phase v1alpha1.AITenantPhase, ready conditions.Value) {
	s.tenant.Status.Phase = phase
	s.set(v1alpha1.ConditionReady, ready)
}

// stop ends the reconcile: something has to happen first, and will wake us.
func (s *scope) stop(reason v1alpha1.ConditionReason, message string) {
	s.stopped = true
	s.say(v1alpha1.AITenantPhasePending, conditions.False(reason, message))
}

// set sets any condition.
func (s *scope) set(conditionType v1alpha1.ConditionType, v conditions.Value) {
	t := conditions.Set(&s.tenant.Status.Conditions, conditionType, s.tenant.Generation, v)
	s.transitions = append(s.transitions, t)
}

// unset removes a condition that no longer applies.
func (s *scope) unset(conditionType v1alpha1.ConditionType) {
	conditions.Remove(&s.tenant.Status.Conditions, conditionType)
}

// lookAgain asks for another reconcile although nothing that is watched will tell.
// The shortest time counts.
func (s *scope) lookAgain(after time.Duration) {
	if s.again == 0 || after < s.again {
		s.again = after
	}
}
