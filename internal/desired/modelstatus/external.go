// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelstatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// ExternalBackend is what an ExternalModel of this operator's own group says of itself, as
// far as its route does not: that its provider's API key is missing or not granted to
// payload processing, or that the Gateway has no way to the provider. Nothing runs in the cluster, so there is nothing else that
// could not be ready. What was said of an earlier generation does not count.
func ExternalBackend(m *v1alpha1.ExternalModel) Backend {
	return externalBackend(m.ObjectMeta, m.Status.Conditions)
}

// InferenceBackend is the same of an ExternalModel of the inference group.
func InferenceBackend(m *inferencev1alpha1.ExternalModel) Backend {
	return externalBackend(m.ObjectMeta, m.Status.Conditions)
}

func externalBackend(m metav1.ObjectMeta, said []metav1.Condition) Backend {
	b := Backend{Kind: v1alpha1.BackendExternalModel, Name: m.Name, State: BackendReady}
	complaint := func(kind v1alpha1.ConditionType) *metav1.Condition {
		c := meta.FindStatusCondition(said, string(kind))
		if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != m.Generation {
			return nil
		}
		return c
	}
	c := complaint(v1alpha1.ConditionReady)
	if c == nil || c.Reason != string(v1alpha1.ReasonAPIMissing) {
		c = complaint(v1alpha1.ConditionCredentialAvailable)
	}
	if c != nil {
		b.State, b.Reason, b.Message = BackendNotReady, c.Reason, c.Message
	}
	return b
}
