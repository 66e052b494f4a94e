// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
)

func TestWhichUpdatesMatter(t *testing.T) {
	t.Parallel()
	model := func(change func(*v1alpha1.MaaSModelRef)) client.Object {
		m := &v1alpha1.MaaSModelRef{}
		change(m)
		return m
	}
	tenant := func(change func(*v1alpha1.AITenant)) client.Object {
		a := &v1alpha1.AITenant{}
		change(a)
		return a
	}
	oldModel, oldTenant := model(func(*v1alpha1.MaaSModelRef) {}), tenant(func(*v1alpha1.AITenant) {})
	leaving := model(func(m *v1alpha1.MaaSModelRef) { m.DeletionTimestamp = new(metav1.Now()) })

	service := func(path []string, value string) client.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"externalName": "api.example.com"}}}
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return u
	}
	oldService := service([]string{"metadata", "resourceVersion"}, "1")

	conditioned := func(kind v1alpha1.ConditionType) client.Object {
		return model(func(m *v1alpha1.MaaSModelRef) {
			m.Status.Conditions = []metav1.Condition{{Type: string(kind), Status: metav1.ConditionFalse}}
		})
	}

	for name, tc := range map[string]struct {
		changed       func(before, after client.Object) bool
		before, after client.Object
		want          bool
	}{
		"a spec is a new generation":           {trigger.NewGeneration, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Generation = 2 }), true},
		"the start of a deletion counts":       {trigger.NewGeneration, oldModel, leaving, true},
		"a deletion under way does not":        {trigger.NewGeneration, leaving, leaving, false},
		"a label is no new generation":         {trigger.NewGeneration, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Labels = map[string]string{"a": "b"} }), false},
		"a label is drift":                     {trigger.Drifted, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Labels = map[string]string{"a": "b"} }), true},
		"an annotation is drift":               {trigger.Drifted, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Annotations = map[string]string{"a": "b"} }), true},
		"a spec is drift":                      {trigger.Drifted, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Generation = 2 }), true},
		"a status is no drift":                 {trigger.Drifted, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Status.Phase = "Ready" }), false},
		"a Service is rewritten":               {trigger.Rewritten, oldService, service([]string{"spec", "externalName"}, "minio.storage.svc"), true},
		"a Service's label is rewritten":       {trigger.Rewritten, oldService, service([]string{"metadata", "labels", "a"}, "b"), true},
		"a Service's status rewrites nothing":  {trigger.Rewritten, oldService, service([]string{"status", "a"}, "b"), false},
		"a Service's version rewrites nothing": {trigger.Rewritten, oldService, service([]string{"metadata", "resourceVersion"}, "2"), false},
		"what cannot be compared is rewritten": {trigger.Rewritten, oldModel, oldModel, true},
		"a model gets its route":               {trigger.ModelMoved, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Status.HTTPRouteName = "r" }), true},
		"a model gets its tenant":              {trigger.ModelMoved, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Status.ResolvedTenantRef = "red" }), true},
		"a model's phase moves nothing":        {trigger.ModelMoved, oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Status.Phase = "Ready" }), false},
		"what is no model may have moved":      {trigger.ModelMoved, oldTenant, oldTenant, true},
		"a tenant is edited":                   {trigger.TenantMoved, oldTenant, tenant(func(a *v1alpha1.AITenant) { a.Generation = 2 }), true},
		"a tenant gets its gateway":            {trigger.TenantMoved, oldTenant, tenant(func(a *v1alpha1.AITenant) { a.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Name: "g"} }), true},
		"a tenant's phase moves nothing":       {trigger.TenantMoved, oldTenant, tenant(func(a *v1alpha1.AITenant) { a.Status.Phase = "Active" }), false},
		"what is no tenant may have moved":     {trigger.TenantMoved, oldModel, oldModel, true},
		"the predicate of specs lets one by":   {updated(trigger.SpecChanged), oldModel, leaving, true},
		"the predicate of models keeps one":    {updated(trigger.ModelJudged), oldModel, oldModel, false},
		"a model's phase is not judged by":     {updated(trigger.ModelJudged), oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Status.Phase = "Ready" }), false},
		"a model loses its route to another":   {updated(trigger.ModelJudged), oldModel, conditioned(v1alpha1.ConditionRouteUnique), true},
		"a model is governed":                  {updated(trigger.ModelJudged), oldModel, conditioned(v1alpha1.ConditionGovernanceAttached), true},
		"a model stays governed":               {updated(trigger.ModelJudged), conditioned(v1alpha1.ConditionGovernanceAttached), conditioned(v1alpha1.ConditionGovernanceAttached), false},
		"a namespace without a tenant's label": {updated(trigger.TenantNamespace), oldModel, model(func(m *v1alpha1.MaaSModelRef) { m.Labels = map[string]string{"a": "b"} }), false},
		"a namespace joins a tenant": {updated(trigger.TenantNamespace), oldModel, model(func(m *v1alpha1.MaaSModelRef) {
			m.Labels = map[string]string{v1alpha1.LabelManagedByAITenant: "true"}
		}), true},
		"a namespace leaves a tenant": {updated(trigger.TenantNamespace), model(func(m *v1alpha1.MaaSModelRef) {
			m.Labels = map[string]string{v1alpha1.LabelTenant: "red"}
		}), oldModel, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.changed(tc.before, tc.after); got != tc.want {
				t.Errorf("changed = %v, want %v", got, tc.want)
			}
		})
	}
}

func updated(p interface{ Update(event.UpdateEvent) bool }) func(before, after client.Object) bool {
	return func(before, after client.Object) bool {
		return p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
}

// Row 9.6.110 of policies.md.
func TestOnlyTenantNamespacesMatterAsTheyComeAndGo(t *testing.T) {
	t.Parallel()
	namespace := func(labels map[string]string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	plain, theirs := namespace(nil), namespace(map[string]string{v1alpha1.LabelTenant: "red"})
	p := trigger.TenantNamespace
	for name, tc := range map[string]struct{ got, want bool }{
		"a plain namespace appears":    {p.Create(event.CreateEvent{Object: plain}), false},
		"a plain namespace goes":       {p.Delete(event.DeleteEvent{Object: plain}), false},
		"a tenant's namespace appears": {p.Create(event.CreateEvent{Object: theirs}), true},
		"a tenant's namespace goes":    {p.Delete(event.DeleteEvent{Object: theirs}), true},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}
