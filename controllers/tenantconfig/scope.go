// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
)

// scope holds what one reconcile knows; every fact is read once.
type scope struct {
	// config is the object; its status is rewritten as the reconcile goes on. before is
	// what the API server holds as far as is known.
	config, before *v1alpha1.MaasTenantConfig
	// anchor is the UID of the Config.
	anchor types.UID
	// input is what the tenant's objects depend on.
	input tenant.Input
	// gateway is the tenant's; nil when it does not exist.
	gateway *gwapiv1.Gateway
	// served tells by name of the CRD which of the kinds of others are served.
	served map[string]bool
	// objects are everything that is wanted.
	objects []*unstructured.Unstructured
	// placed are the objects that were tried to be brought in place, live what was last
	// seen of them.
	placed map[apply.Ref]bool
	live   map[apply.Ref]*unstructured.Unstructured
	// inventoried are the objects that an earlier reconcile had written, or was about to.
	inventoried map[apply.Ref]bool
	// handsOff are objects that somebody opted out of management.
	handsOff map[apply.Ref]bool
	// unguarded holds when an AuthPolicy that a route needs is another controller's.
	unguarded bool
	// predecessor is the AuthPolicy of an earlier release for which the one of the
	// Gateway waits; empty when it does not.
	predecessor string
	// usurpers are the policies of others that are in force in the place of one of the
	// Gateway's.
	usurpers map[apply.Ref][]*unstructured.Unstructured
	// limiters are limits of others on the route to maas-api, where they are in force in
	// the place of those of the Gateway.
	limiters map[apply.Ref][]*unstructured.Unstructured
	// facts are what the status will say.
	facts tenantstatus.Facts

	// stopped ends the phases early, without an error.
	stopped bool
	// silent leaves the status alone: the config is somebody else's, or gone.
	silent bool
	// unpruned is why something that is no longer wanted is still there.
	unpruned error
	// stale tells that a write met a newer object, so that nothing is known.
	stale bool
	// again is when to look again although nothing changed; 0 for never.
	again time.Duration
	// transitions are what the conditions made of the status.
	transitions []conditions.Transition
}

func newScope(config *v1alpha1.MaasTenantConfig) *scope {
	inventoried := map[apply.Ref]bool{}
	for _, ref := range apply.InventoryFrom(config.Status.Inventory) {
		inventoried[ref] = true
	}
	return &scope{
		inventoried: inventoried,
		config:      config, before: config.DeepCopy(),
		placed: map[apply.Ref]bool{}, live: map[apply.Ref]*unstructured.Unstructured{}, served: map[string]bool{},
		usurpers: map[apply.Ref][]*unstructured.Unstructured{}, limiters: map[apply.Ref][]*unstructured.Unstructured{},
		handsOff: map[apply.Ref]bool{},
		facts: tenantstatus.Facts{
			Generation: config.Generation, Phase: config.Status.Phase, Previous: config.DeepCopy().Status.Conditions,
		},
	}
}

// recorded is the inventory that the API server holds.
func (s *scope) recorded() apply.Inventory { return apply.InventoryFrom(s.config.Status.Inventory) }

// ignore ends the reconcile without a word.
func (s *scope) ignore() { s.stopped, s.silent = true, true }

// halt ends the reconcile: what the tenant has was not evaluated.
func (s *scope) halt(h tenantstatus.Halt) {
	s.stopped = true
	s.facts.Halt = h
}

// wait halts: something has to happen first, and will wake us.
func (s *scope) wait(reason v1alpha1.ConditionReason, message string) {
	s.halt(tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: reason, Message: message, Phase: v1alpha1.TenantPhasePending})
}

// refuse halts: somebody must act.
func (s *scope) refuse(reason v1alpha1.ConditionReason, message string) {
	s.halt(tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: reason, Message: message, Phase: v1alpha1.TenantPhaseFailed})
}

// fail ends the reconcile: the tenant's services could not be written.
func (s *scope) fail(reason v1alpha1.ConditionReason, message string) {
	s.stopped = true
	if s.facts.Failure.Reason == "" {
		s.facts.Failure = tenantstatus.Failure{Reason: reason, Message: message}
	}
}

// warn adds a warning.
func (s *scope) warn(reason v1alpha1.ConditionReason, message string) {
	s.facts.Warnings = append(s.facts.Warnings, tenantstatus.Warning{Reason: reason, Message: message})
}

// lookAgain asks for another reconcile although nothing that is watched will tell.
// The shortest time counts.
func (s *scope) lookAgain(after time.Duration) {
	if s.again == 0 || after < s.again {
		s.again = after
	}
}

// unread is said when something could not be read. What was known may still hold.
const unread = "What the tenant depends on could not be read; see the controller's log. What runs stays in place."

// report turns an error that no phase has put into words into the status, and decides
// whether to try again.
func (s *scope) report(err error) error {
	if err == nil {
		return nil
	}
	if s.stopped || s.stale {
		return err // The phase has said what it means.
	}
	if apierrors.IsConflict(err) {
		s.stale = true
		return err
	}
	if user, ok := apperr.AsUser(err); ok {
		s.refuse(v1alpha1.ConditionReason(user.Reason), user.Message)
		return nil
	}
	reason := v1alpha1.ReasonGetFailed
	if unchecked, ok := errors.AsType[*apperr.UncheckedError](err); ok {
		reason = v1alpha1.ConditionReason(unchecked.Reason)
	}
	s.halt(tenantstatus.Halt{Ready: metav1.ConditionUnknown, Reason: reason, Message: unread, Keep: true})
	return err
}
