// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// E-52, W-13, W-50.
func TestMarkNamespace(t *testing.T) {
	t.Parallel()
	fresh := aitenant.NewNamespace(red(), "ai-tenant-red")
	prepared := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "ai-tenant-red", Labels: map[string]string{"team": "red"}, Annotations: map[string]string{"note": "kept"},
	}}
	aitenant.MarkNamespace(prepared, red())

	if fresh.Annotations[v1alpha1.AnnotationCreatedByAITenant] != "true" {
		t.Error("a namespace that was made is not marked as made")
	}
	if _, ok := prepared.Annotations[v1alpha1.AnnotationCreatedByAITenant]; ok {
		t.Error("a namespace that was taken over is marked as made")
	}
	delete(fresh.Annotations, v1alpha1.AnnotationCreatedByAITenant)
	fresh.Labels["team"], fresh.Annotations["note"] = "red", "kept"
	if diff := cmp.Diff(fresh, prepared); diff != "" {
		t.Errorf("a namespace that was taken over differs from one that was made (-made +taken over):\n%s", diff)
	}
	if got := prepared.Annotations[v1alpha1.AnnotationAITenantUID]; got != "uid-of-red" {
		t.Errorf("the UID of the owner is %q", got)
	}
	again := prepared.DeepCopy()
	aitenant.MarkNamespace(again, red())
	if diff := cmp.Diff(prepared, again); diff != "" {
		t.Errorf("marking twice is not marking once:\n%s", diff)
	}
}

// E-70.
func TestMarkClaimCompletesOneOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	want := aitenant.Claim(red(), types.NamespacedName{Namespace: "gateways", Name: "red"})
	former := want.DeepCopy()
	former.OwnerReferences = nil
	delete(former.Annotations, v1alpha1.AnnotationAITenantUID)
	delete(former.Labels, v1alpha1.LabelManagedByAITenant)
	aitenant.MarkClaim(former, red())
	if diff := cmp.Diff(want, former); diff != "" {
		t.Errorf("the completed claim differs from a new one (-new +completed):\n%s", diff)
	}
	if ref := want.OwnerReferences[0]; ref.BlockOwnerDeletion != nil || !*ref.Controller {
		t.Errorf("owner reference %+v", ref)
	}
}

// E-66, E-64.
func TestNamesOfATenant(t *testing.T) {
	t.Parallel()
	key := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	pairs := []types.NamespacedName{key("a", "b"), key("b", "a"), key("a-b", "c"), key("a", "b-c"), key("ab", "c")}
	names := map[string]types.NamespacedName{}
	for _, pair := range pairs {
		name := aitenant.Claim(red(), pair).Name
		if other, ok := names[name]; ok {
			t.Errorf("Gateways %s and %s have one claim, %s", pair, other, name)
		}
		names[name] = pair
		if again := aitenant.Claim(red(), pair).Name; again != name {
			t.Errorf("the claim on %s is once %s and once %s", pair, name, again)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,39}[a-z0-9])?`)
		one, other := label.Draw(t, "one"), label.Draw(t, "other")
		for _, name := range []func(string) string{tenancy.TenantAdminRole, tenancy.ObjectAdminRole} {
			if got := name(one); len(validation.IsDNS1123Label(got)) > 0 {
				t.Errorf("%q is no DNS label", got)
			}
			if one != other && name(one) == name(other) {
				t.Errorf("tenants %q and %q share the name %q", one, other, name(one))
			}
		}
	})
}
