// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// nothingServed is a cluster without optional kinds.
type nothingServed struct{}

func (nothingServed) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
}

// A reconcile that read a model and finds a newer one in the list, which is broken, would
// take the model for one that asks for nothing, and close what serves.
func TestAModelHasItsClaimAsItWasReadFirst(t *testing.T) {
	t.Parallel()
	model := func(name, tls string) *v1alpha1.ExternalModel {
		m := &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name, Annotations: map[string]string{v1alpha1.AnnotationTLS: tls}}}
		m.Spec.Endpoint, m.Spec.TargetModel = "api.example.com", "gpt-4o"
		return m
	}
	r := &Reconciler{
		Client: fakecluster.Holding(parts.Scheme(t), model("gpt", "maybe"), model("other", "true")).Build(),
		APIs:   facts.NewOptionalAPIs(nothingServed{}),
	}
	claims, err := r.claimsOf(t.Context(), subject{own: model("gpt", "true")})
	if err != nil {
		t.Fatalf("claimsOf() error = %v", err)
	}
	found := map[string]int{}
	for _, claim := range claims {
		found[claim.Model.Name]++
	}
	if found["gpt"] != 1 || found["other"] != 1 {
		t.Errorf("claims by model: %v, want one of each", found)
	}
}
