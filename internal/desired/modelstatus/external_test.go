// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelstatus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
)

func TestWhatAnExternalModelSaysOfItself(t *testing.T) {
	t.Parallel()
	says := func(kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason v1alpha1.ConditionReason, generation int64) metav1.Condition {
		return metav1.Condition{Type: string(kind), Status: status, Reason: string(reason), Message: "Words.", ObservedGeneration: generation}
	}
	const now, before = 2, 1
	ready := modelstatus.Backend{Kind: v1alpha1.BackendExternalModel, Name: "gpt", State: modelstatus.BackendReady}
	lacking := func(reason v1alpha1.ConditionReason) modelstatus.Backend {
		return modelstatus.Backend{Kind: v1alpha1.BackendExternalModel, Name: "gpt", State: modelstatus.BackendNotReady, Reason: string(reason), Message: "Words."}
	}
	for name, tc := range map[string]struct {
		said []metav1.Condition
		want modelstatus.Backend
	}{
		"nothing yet": {nil, ready},
		"all is well": {[]metav1.Condition{
			says(v1alpha1.ConditionReady, "True", v1alpha1.ReasonReconciled, now), says(v1alpha1.ConditionCredentialAvailable, "True", v1alpha1.ReasonCredentialAvailable, now),
		}, ready},
		"a Secret that may not be read": {[]metav1.Condition{says(v1alpha1.ConditionCredentialAvailable, "Unknown", v1alpha1.ReasonCredentialNotReadable, now)}, ready},
		"a Secret that is missing": {[]metav1.Condition{
			says(v1alpha1.ConditionReady, "False", v1alpha1.ReasonRouteNotGuarded, now), says(v1alpha1.ConditionCredentialAvailable, "False", v1alpha1.ReasonCredentialNotFound, now),
		}, lacking(v1alpha1.ReasonCredentialNotFound)},
		"one that is not granted": {[]metav1.Condition{
			says(v1alpha1.ConditionReady, "False", v1alpha1.ReasonCredentialNotGranted, now), says(v1alpha1.ConditionCredentialAvailable, "False", v1alpha1.ReasonCredentialNotGranted, now),
		}, lacking(v1alpha1.ReasonCredentialNotGranted)},
		"one that was missing": {[]metav1.Condition{says(v1alpha1.ConditionCredentialAvailable, "False", v1alpha1.ReasonCredentialNotFound, before)}, ready},
		"no way to providers":  {[]metav1.Condition{says(v1alpha1.ConditionReady, "False", v1alpha1.ReasonAPIMissing, now)}, lacking(v1alpha1.ReasonAPIMissing)},
		"what its route says":  {[]metav1.Condition{says(v1alpha1.ConditionReady, "False", v1alpha1.ReasonRouteNotAccepted, now)}, ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Name: "gpt", Generation: now}}
			m.Status.Conditions = tc.said
			if diff := cmp.Diff(tc.want, modelstatus.ExternalBackend(m)); diff != "" {
				t.Errorf("ExternalBackend() (-want +got):\n%s", diff)
			}
			theirs := &inferencev1alpha1.ExternalModel{ObjectMeta: m.ObjectMeta}
			theirs.Status.Conditions = tc.said
			if diff := cmp.Diff(tc.want, modelstatus.InferenceBackend(theirs)); diff != "" {
				t.Errorf("InferenceBackend() (-want +got):\n%s", diff)
			}
		})
	}
}
