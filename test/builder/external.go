// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// ExternalModel is a provider's model, of this operator's own API group.
func ExternalModel(namespace, name string) *v1alpha1.ExternalModel {
	return &v1alpha1.ExternalModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ExternalModelSpec{
			Provider: "openai", TargetModel: "gpt-4o", Endpoint: "api.example.com",
			CredentialRef: v1alpha1.CredentialReference{Name: name + "-key"},
		},
	}
}

// InferenceExternalModel is a provider's model, of the inference gateway's group.
func InferenceExternalModel(namespace, name string) *inferencev1alpha1.ExternalModel {
	o := &inferencev1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.Spec.ExternalProviderRefs = []inferencev1alpha1.ExternalProviderBinding{{
		Ref: inferencev1alpha1.LocalReference{Name: name + "-provider"}, TargetModel: "gpt-4o", APIFormat: "openai-chat", Path: "/v1/chat/completions",
	}}
	return o
}
