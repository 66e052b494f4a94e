// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Rows E-85 and E-97, and whose keys they are.
func TestWhatHappensToTheKeys(t *testing.T) {
	t.Parallel()
	condition := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: "APIKeysRevoked", Status: status}}
	}
	for name, test := range map[string]struct {
		annotation string
		conditions []metav1.Condition
		facts      aitenant.RevocationFacts
		want       aitenant.Revocation
	}{
		"in doubt they are revoked":             {want: aitenant.Revoke},
		"a Job has revoked them":                {conditions: condition(metav1.ConditionTrue), want: aitenant.Revoked},
		"a Job has not":                         {conditions: condition(metav1.ConditionFalse), want: aitenant.Revoke},
		"an administrator has":                  {annotation: "true", want: aitenant.RevokedByHand},
		"an administrator says something else":  {annotation: "yes", want: aitenant.Revoke},
		"the tenant in charge, beside a rival":  {facts: aitenant.RevocationFacts{Config: aitenant.Ours, Rival: true}, want: aitenant.Revoke},
		"the tenant in charge, misplaced since": {facts: aitenant.RevocationFacts{Config: aitenant.Ours, Misplaced: true}, want: aitenant.Revoke},
		"one that was made again":               {facts: aitenant.RevocationFacts{Config: aitenant.Former}, want: aitenant.Revoke},
		"another tenant is in charge":           {facts: aitenant.RevocationFacts{Config: aitenant.Others}, want: aitenant.NotItsKeys},
		"another tenant may be":                 {facts: aitenant.RevocationFacts{Rival: true}, want: aitenant.NotItsKeys},
		"a misplaced one never was":             {facts: aitenant.RevocationFacts{Misplaced: true}, want: aitenant.NotItsKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant := ofTenant("red")
			tenant.Annotations = map[string]string{v1alpha1.AnnotationAPIKeysRevoked: test.annotation}
			tenant.Status.Conditions = test.conditions
			if got := aitenant.RevocationOf(tenant, test.facts); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// Rows E-85, E-86, E-89 and E-98.
func TestWhatAJobProves(t *testing.T) {
	t.Parallel()
	says := func(conditionType batchv1.JobConditionType, status corev1.ConditionStatus) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: conditionType, Status: status})
		}
	}
	ending := func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{} }
	for name, test := range map[string]struct {
		uid    string
		change []func(*batchv1.Job)
		want   aitenant.JobState
	}{
		"it runs":                            {uid: "uid-1", want: aitenant.JobRunning},
		"it is about to be complete":         {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobSuccessCriteriaMet, "True")}, want: aitenant.JobRunning},
		"it is about to fail":                {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobFailureTarget, "True")}, want: aitenant.JobRunning},
		"it is not complete":                 {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobComplete, "False")}, want: aitenant.JobRunning},
		"it is complete":                     {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobComplete, "True")}, want: aitenant.JobComplete},
		"it is complete, and being deleted":  {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobComplete, "True"), ending}, want: aitenant.JobComplete},
		"it failed":                          {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobFailed, "True")}, want: aitenant.JobFailed},
		"it failed, and is being deleted":    {uid: "uid-1", change: []func(*batchv1.Job){says(batchv1.JobFailed, "True"), ending}, want: aitenant.JobEnding},
		"it is being deleted":                {uid: "uid-1", change: []func(*batchv1.Job){ending}, want: aitenant.JobEnding},
		"one of a former tenant is complete": {uid: "uid-0", change: []func(*batchv1.Job){says(batchv1.JobComplete, "True")}, want: aitenant.JobOthers},
		"one of nobody is complete":          {uid: "", change: []func(*batchv1.Job){says(batchv1.JobComplete, "True")}, want: aitenant.JobOthers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAITenantUID: test.uid}}}
			for _, c := range test.change {
				c(job)
			}
			if got := aitenant.JobStateOf(job, "uid-1"); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if got := aitenant.JobStateOf(job, ""); got != aitenant.JobOthers {
				t.Errorf("to a tenant without a UID it is %v", got)
			}
		})
	}
	if got := aitenant.JobStateOf(nil, "uid-1"); got != aitenant.JobMissing {
		t.Errorf("no Job is %v", got)
	}
}

func stored(t interface{ Fatal(...any) }, stone aitenant.Tombstone) *corev1.ConfigMap {
	c := &corev1.ConfigMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stone.Object("ai-tenants").Object, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATombstoneComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := aitenant.Tombstone{
			AITenant: types.NamespacedName{Namespace: "ai-tenants", Name: rapid.StringMatching(`[a-z]([a-z0-9-]{0,39}[a-z0-9])?`).Draw(t, "name")},
			UID:      types.UID(rapid.StringN(1, 60, -1).Draw(t, "uid")), RetentionDays: rapid.Int32Min(0).Draw(t, "days"),
		}
		want.Tenant = rapid.SampledFrom([]string{want.AITenant.Name, tenancy.DefaultName}).Draw(t, "tenant")
		c := stored(t, want)
		if problems := validation.IsDNS1123Subdomain(c.Name); len(problems) > 0 {
			t.Fatalf("name %q: %v", c.Name, problems)
		}
		for key, value := range c.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Fatalf("label %s: %v", key, problems)
			}
		}
		if c.Immutable == nil || !*c.Immutable || c.Namespace != "ai-tenants" {
			t.Fatalf("%+v", c)
		}
		got, err := aitenant.TombstoneFrom(c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if context := got.Context(); context.Name != want.Tenant || (context.ID == "") != (want.Tenant == tenancy.DefaultName) {
			t.Fatalf("context %+v", context)
		}
	})
}

func TestATombstoneThatWasTamperedWithNamesNobody(t *testing.T) {
	t.Parallel()
	good := aitenant.Tombstone{AITenant: types.NamespacedName{Namespace: "ai-tenants", Name: "red"}, UID: "uid-1", Tenant: "red", RetentionDays: 9}
	for name, test := range map[string]struct {
		change func(*corev1.ConfigMap)
		good   bool
	}{
		"another UID":             {change: func(c *corev1.ConfigMap) { c.Data["aiTenantUID"] = "uid-2" }},
		"another name":            {change: func(c *corev1.ConfigMap) { c.Name = "x" }},
		"no UID":                  {change: func(c *corev1.ConfigMap) { delete(c.Data, "aiTenantUID") }},
		"another tenant":          {change: func(c *corev1.ConfigMap) { c.Data["tenant"] = "blue" }},
		"no tenant":               {change: func(c *corev1.ConfigMap) { delete(c.Data, "tenant") }},
		"no AITenant":             {change: func(c *corev1.ConfigMap) { delete(c.Data, "aiTenantName") }},
		"no namespace":            {change: func(c *corev1.ConfigMap) { delete(c.Data, "aiTenantNamespace") }},
		"nothing":                 {change: func(c *corev1.ConfigMap) { c.Data = nil }},
		"no time of retention":    {change: func(c *corev1.ConfigMap) { delete(c.Data, "retentionDays") }, good: true},
		"a time that is negative": {change: func(c *corev1.ConfigMap) { c.Data["retentionDays"] = "-1" }, good: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := stored(t, good)
			test.change(c)
			got, err := aitenant.TombstoneFrom(c)
			if (err == nil) != test.good {
				t.Fatalf("got %+v, err = %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.Name) || got != aitenant.Tombstone{}) {
				t.Errorf("got %+v, err = %v", got, err)
			}
			if err == nil && got.RetentionDays != 0 {
				t.Errorf("%d days", got.RetentionDays)
			}
		})
	}
}

// Of any two tombstones that would use the same Job one comes first, and it is always
// the same one.
func TestTombstonesTakeTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (aitenant.Tombstone, time.Time) {
			name := rapid.SampledFrom([]string{"red", "blue"}).Draw(t, label+" name")
			return aitenant.Tombstone{
				AITenant: types.NamespacedName{Namespace: "ai-tenants", Name: name}, Tenant: name,
				UID: types.UID(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, label+" uid")),
			}, time.Unix(rapid.Int64Range(0, 2).Draw(t, label+" made"), 0)
		}
		a, madeA := draw("a")
		b, madeB := draw("b")
		first, second := a.Before(b, madeA, madeB), b.Before(a, madeB, madeA)
		compete := a.Tenant == b.Tenant && a.UID != b.UID
		if compete != (first != second) || !compete && (first || second) {
			t.Fatalf("%+v before %+v: %v, the other way %v", a, b, first, second)
		}
	})
}

func TestTombstonesAreTriedLessAndLess(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{
		-time.Hour: 30 * time.Second, 0: 30 * time.Second, time.Minute: 30 * time.Second, 10 * time.Minute: time.Minute, time.Hour: 5 * time.Minute, 1000 * time.Hour: 5 * time.Minute,
	} {
		if got := aitenant.RetryAfter(age); got != want {
			t.Errorf("after %s: %s, want %s", age, got, want)
		}
	}
}
