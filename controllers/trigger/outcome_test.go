// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/controllers/trigger"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "maasmodelrefs"}, "granite", errors.New("modified"))
	wrapped := fmt.Errorf("patch status: %w", stale)
	owned := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}},
	}}

	gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
	exists := apierrors.NewAlreadyExists(schema.GroupResource{}, "x")

	for name, tc := range map[string]struct {
		err, wantErr error
		wantLater    bool
	}{
		"success is left alone":                     {nil, nil, false},
		"an error is left to the queue":             {down, down, false},
		"a stale write waits for the cache":         {stale, nil, true},
		"a wrapped stale write waits too":           {wrapped, nil, true},
		"several stale writes wait":                 {errors.Join(stale, wrapped), nil, true},
		"no other error is lost with a stale write": {errors.Join(wrapped, down), down, false},
		"an error that wraps both is left":          {fmt.Errorf("%w after %w", stale, down), down, false},
		"a field of another owner is left":          {owned, owned, false},
		"an object that is gone is left":            {gone, gone, false},
		"an object that exists already is left":     {exists, exists, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := trigger.Outcome(t.Context(), tc.err)
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("err = %v, want %v", err, tc.wantErr)
			}
			if later := result.RequeueAfter > 0; later != tc.wantLater {
				t.Errorf("tried again later: %v, want %v", later, tc.wantLater)
			}
		})
	}
}
