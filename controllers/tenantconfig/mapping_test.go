// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/test/builder"
)

// A model of any kind may be left out of the configuration of its tenant's Gateway, so
// that tenant is looked at when the model becomes its own.
func TestATenantIsLookedAtWhenAModelBecomesItsOwn(t *testing.T) {
	t.Parallel()
	before := builder.ModelRef("llm", "granite").Obj()
	after := before.DeepCopy()
	after.Status.Tenant = "red"
	if !tenantconfig.Publishes(before, after) || tenantconfig.Publishes(after, after) {
		t.Error("the tenant is not looked at then, or always")
	}
	for _, kind := range []v1alpha1.BackendKind{v1alpha1.BackendLLMInferenceService, v1alpha1.BackendExternalModel} {
		after.Spec.ModelRef.Kind = kind
		want := types.NamespacedName{Namespace: tenancies().TenantNamespace("red"), Name: v1alpha1.DefaultTenantConfigName}
		got, err := tenantconfig.OfModel(t.Context(), tenancies(), after)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: configs = %v, error %v, want %s", kind, got, err, want)
		}
		if got, err := tenantconfig.OfModel(t.Context(), tenancies(), before); err != nil || len(got) != 0 {
			t.Errorf("%s: configs of no tenant = %v, error %v", kind, got, err)
		}
	}
}
