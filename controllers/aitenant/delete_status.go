// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

// failure is a step of the deletion that failed.
type failure struct {
	// step completes the sentence "... fails".
	step string
	err  error
}

// blocked says which steps fail. What somebody has to do is asked for again after a
// while, the rest is tried again as errors are. A write to an object that had moved on
// says nothing.
func (s *scope) blocked(failures []failure) error {
	var sentences []string
	var errs []error
	for _, f := range failures {
		user, isUser := apperr.AsUser(f.err)
		switch {
		case isUser:
			sentences = append(sentences, user.Message)
			s.lookAgain(later)
		case apierrors.IsConflict(f.err):
			errs = append(errs, f.err)
		default:
			sentences = append(sentences, "The deletion is blocked: "+f.step+" fails"+because(f.err)+"; see the controller's log.")
			errs = append(errs, f.err)
		}
	}
	if len(sentences) == 0 {
		s.decided = false
		return errors.Join(errs...)
	}
	s.say(v1alpha1.AITenantPhaseTerminating, conditions.False(v1alpha1.ReasonDeletionBlocked, strings.Join(sentences, " ")))
	return errors.Join(errs...)
}

// because is the word that the API server has for an error, if it has one. The text of
// an error may be another one each time.
func because(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return " (" + string(reason) + ")"
	}
	return ""
}

// staleOr keeps the status as it is when the AITenant had moved on.
func (s *scope) staleOr(err error) error {
	if apierrors.IsConflict(err) {
		s.decided = false
	}
	return err
}
