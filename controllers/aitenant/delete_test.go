// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	desiredtenant "github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// ready is "<reason>: <message>" of the condition Ready of the tenant.
func (s *theatre) ready() string {
	s.t.Helper()
	t := &v1alpha1.AITenant{}
	if !s.get(s.t.Context(), aitenantNamespace, "red", t) {
		return "gone"
	}
	c := meta.FindStatusCondition(t.Status.Conditions, string(v1alpha1.ConditionReady))
	if c == nil {
		return ""
	}
	return string(t.Status.Phase) + " " + c.Reason + ": " + c.Message
}

// says drains the events that were recorded.
func (s *theatre) says() []string {
	var all []string
	for {
		select {
		case e := <-s.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func (s *theatre) expect(state string) {
	s.t.Helper()
	if got := s.ready(); !strings.HasPrefix(got, state) {
		s.t.Fatalf("the tenant says %q, want %q", got, state)
	}
}

// edit changes the tenant's AITenant as a user would.
func (s *theatre) edit(change func(*v1alpha1.AITenant)) {
	s.t.Helper()
	t := &v1alpha1.AITenant{}
	if !s.get(s.t.Context(), aitenantNamespace, "red", t) {
		s.t.Fatal("the AITenant is gone")
	}
	change(t)
	if err := s.store.Update(s.t.Context(), t); err != nil {
		s.t.Fatal(err)
	}
}

func (s *theatre) job() *batchv1.Job {
	s.t.Helper()
	job := &batchv1.Job{}
	if !s.get(s.t.Context(), infraNamespace, tenancy.KeyRevocation("red"), job) {
		return nil
	}
	return job
}

// Row E-94 and W-12, with a crash at every write.
func TestAForcedDeletionForgetsNoKey(t *testing.T) {
	t.Parallel()
	calm := newTheatre(t, red()...)
	calm.failing, calm.stuck = 6, true
	calm.play(t.Context())
	said := strings.Join(calm.says(), "\n")
	for _, want := range []string{"Warning AITenantCleanupForced", "Warning DeletionBlocked", desiredtenant.TombstoneName(doomed), "Normal RevocationJobCompleted"} {
		if !strings.Contains(said, want) {
			t.Errorf("no event says %s:\n%s", want, said)
		}
	}
	if !calm.get(t.Context(), "ai-tenant-red", v1alpha1.DefaultTenantConfigName, &v1alpha1.MaasTenantConfig{}) {
		t.Error("the stuck MaasTenantConfig should be there, being deleted")
	}
	for at := 1; at <= calm.writes; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, done %v", at, after), func(t *testing.T) {
				t.Parallel()
				s := newTheatre(t, red()...)
				s.failing, s.stuck, s.crashAt, s.after = 6, true, at, after
				s.play(t.Context())
			})
		}
	}
}

// Row E-96.
func TestADeletionWithoutATimeoutIsNeverForced(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, red()...)
	s.operator.DeletionTimeout, s.slow = 0, true
	s.clock.SetTime(s.began.Add(100 * time.Hour))
	s.turn(t.Context())
	s.turn(t.Context())
	s.expect("Terminating DeletionInProgress: The tenant's API keys are being revoked by Job")
}

// Somebody who takes the finalizer off does not save the keys.
func TestKeysEndWithoutTheFinalizer(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, red()...)
	s.slow = true
	s.turn(t.Context())
	s.edit(func(t *v1alpha1.AITenant) { t.Finalizers = nil })
	s.slow = false
	s.play(t.Context())
}

// Row E-89.
func TestAFailedJobBlocksAndIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, red()...)
	s.failing = 1
	s.turn(t.Context())
	s.turn(t.Context())
	s.expect("Terminating DeletionBlocked: The tenant's API keys could not be revoked: Job " + infraNamespace + "/" + tenancy.KeyRevocation("red"))
	if s.job() != nil {
		t.Error("the failed Job is still there")
	}
	s.play(t.Context())
	s.leftovers(t.Context())
}

// Row E-86: what an earlier tenant's Job says proves nothing.
func TestAJobOfAnEarlierTenantIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, uid := range map[string]string{"of another UID": "uid-0", "of none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Namespace: infraNamespace, Name: tenancy.KeyRevocation("red"), Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue},
				Annotations: map[string]string{v1alpha1.AnnotationAITenantUID: uid},
			}}
			old.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			s := newTheatre(t, append(red(), old)...)
			s.play(t.Context())
			s.leftovers(t.Context())
		})
	}
}

func TestAJobOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	theirs := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: tenancy.KeyRevocation("red")}}
	s := newTheatre(t, append(red(), theirs)...)
	s.slow = true
	s.turn(t.Context())
	s.turn(t.Context())
	s.expect("Terminating DeletionBlocked: Job " + infraNamespace + "/" + tenancy.KeyRevocation("red") + " has the name")
	if s.job() == nil {
		t.Error("it was deleted")
	}
}

// A missing database blocks, says so, and goes on by itself.
func TestWithoutTheDatabaseNothingIsTakenDown(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, slices.DeleteFunc(red(), func(o client.Object) bool { _, secret := o.(*corev1.Secret); return secret })...)
	s.turn(t.Context())
	s.turn(t.Context())
	s.expect("Terminating DeletionBlocked: The tenant's API keys cannot be revoked, because Secret " + infraNamespace + "/maas-db-config")
	if s.job() != nil {
		t.Error("a Job was made that cannot start")
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
	if err := s.store.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.play(t.Context())
}

// Row E-97. A Job that is under way ends first: a successor of the tenant must not meet it.
func TestKeysRevokedByHandNeedNoJob(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, red()...)
	s.slow = true
	s.turn(t.Context())
	if s.job() == nil {
		t.Fatal("no Job was made")
	}
	s.byHand = true
	s.edit(func(t *v1alpha1.AITenant) {
		t.Annotations = map[string]string{v1alpha1.AnnotationAPIKeysRevoked: "true"}
	})
	s.play(t.Context())
	s.leftovers(t.Context())
	if s.job() != nil {
		t.Error("the Job runs on")
	}
}

// An AITenant that was never in charge does not touch the keys of the tenant that is.
func TestTheKeysOfAnotherTenantStay(t *testing.T) {
	t.Parallel()
	objects := red()
	for _, o := range objects {
		if _, isTenant := o.(*v1alpha1.AITenant); !isTenant && o.GetAnnotations()[v1alpha1.AnnotationAITenantName] != "" {
			o.GetAnnotations()[v1alpha1.AnnotationAITenantNamespace] = "elsewhere"
		}
	}
	s := newTheatre(t, objects...)
	s.byHand = true
	s.play(t.Context())
	if s.revoked[doomed] || s.job() != nil {
		t.Error("the keys of another tenant were revoked")
	}
	config := &v1alpha1.MaasTenantConfig{}
	if !s.get(t.Context(), "ai-tenant-red", v1alpha1.DefaultTenantConfigName, config) || config.DeletionTimestamp != nil {
		t.Error("the MaasTenantConfig of another tenant was deleted")
	}
}

// Rows E-98 and E-176: a successor waits until the keys of its predecessor are revoked,
// for its maas-api would take them for its own.
func TestASuccessorWaitsForTheKeysOfItsPredecessor(t *testing.T) {
	t.Parallel()
	stone := desiredtenant.Tombstone{AITenant: types.NamespacedName{Namespace: aitenantNamespace, Name: "red"}, UID: "uid-0", Tenant: "red"}
	fresh := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: "red", UID: doomed}}
	s := newTheatre(t, fresh, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: infraNamespace}})
	object := stone.Object(aitenantNamespace)
	if err := s.store.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	s.byHand = true
	s.turn(t.Context())
	s.expect("Pending FormerKeysPending: The API keys of an earlier tenant of this name are being revoked: see ConfigMap " + aitenantNamespace + "/" + desiredtenant.TombstoneName("uid-0"))
	if s.get(t.Context(), "", "ai-tenant-red", &corev1.Namespace{}) {
		t.Error("the successor was set up")
	}
	if err := s.store.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// The people whose rights would come back are named.
func TestBindingsThatStayAreNamed(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, red()...)
	s.play(t.Context())
	said := strings.Join(s.says(), "\n")
	if !strings.Contains(said, "Warning AITenantCleanedUp") || !strings.Contains(said, "ai-tenant-red/of-a-user") {
		t.Errorf("events:\n%s", said)
	}
}
