// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

// scope holds what one reconcile knows; every fact is read once.
type scope struct {
	subject
	// model is what counts of the subject, object that as it is stored, with the status
	// that is written at the end, and before as it was.
	model          *v1alpha1.ExternalModel
	object, before client.Object
	facts          external.Facts
	input          external.Input
	output         external.Output
	objects        []*unstructured.Unstructured
	// served tells which kinds the cluster serves, by the name of the
	// CustomResourceDefinition.
	served map[string]bool
	// claims are those of all ExternalModels that can be led to.
	claims []external.Claim
	// route is the model's HTTPRoute as it was last written or read; nil for none.
	route *unstructured.Unstructured
	// handsOff tells that somebody opted the route out of management.
	handsOff bool
	// reached tells that the Gateway can get to the provider, with TLS where it is asked
	// for.
	reached bool
	// retired tells that nothing is left of what an earlier release made for the model.
	retired bool
	// again is when to look again although nothing that is watched changed.
	again time.Duration
	// stale tells that a write met a newer object, and nothing is known.
	stale bool
	// stopped ends the phases early, without an error.
	stopped bool
}

func newScope(of subject) *scope {
	s := &scope{subject: of, model: of.model(), object: of.object(), before: copyOf(of.object()), served: map[string]bool{}}
	s.facts = external.Facts{Generation: s.model.Generation, Secret: s.model.Spec.CredentialRef.Name}
	if of.acts {
		s.facts.Fields, s.facts.Note = of.translation.Fields, of.translation.Note
	} else if of.theirs != nil && of.theirs.DeletionTimestamp == nil {
		s.facts.Replacement = external.BeingReplaced
	}
	return s
}

func copyOf(object client.Object) client.Object {
	other, _ := object.DeepCopyObject().(client.Object)
	return other
}

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.model) }

// lookAgain asks for another look after a while, if none is due before.
func (s *scope) lookAgain(after time.Duration) {
	if s.again == 0 || after < s.again {
		s.again = after
	}
}

// outcome is what the queue is told.
func (s *scope) outcome(ctx context.Context, err error) (ctrl.Result, error) {
	result, err := trigger.Outcome(ctx, err)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = s.again
	}
	return result, err
}

// report turns an error into the condition and decides whether to try again.
func (s *scope) report(err error) error {
	if err == nil {
		return nil
	}
	fail := func(reason v1alpha1.ConditionReason, message string) {
		s.facts.Failure = apperr.UserError{Reason: string(reason), Message: message}
	}
	conflict, foreign := errors.AsType[*apply.ConflictError](err)
	user, users := apperr.AsUser(err)
	switch {
	case users:
		fail(v1alpha1.ConditionReason(user.Reason), user.Message)
		return nil
	case foreign:
		fail(v1alpha1.ReasonForeignObject, conflict.Error()+".")
		s.lookAgain(missingAgain)
		return nil
	case errors.Is(err, apply.ErrTerminating):
		fail(v1alpha1.ReasonApplyFailed, "An object of this name is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew.")
	case apierrors.IsConflict(err):
		s.stale = true
	default:
		fail(v1alpha1.ReasonApplyFailed, "What is made for the ExternalModel could not be read or written; see the controller's log. It is tried again.")
	}
	return err
}

// nameOf names an object for people.
func nameOf(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}
