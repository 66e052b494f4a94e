// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	desiredtenant "github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// errCrash is what a write gets at which the operator dies.
var errCrash = errors.New("the operator died")

// theatre is a cluster in memory in which the operator dies at one of its writes, before
// or after it took effect, and starts anew. It plays the Jobs on the database and the
// controller of MaasTenantConfigs.
type theatre struct {
	t     *testing.T
	store client.Client
	// began is when the deletion begins: when the test does, because conditions carry
	// the time of the machine, and other tests may run for minutes before this one.
	began time.Time
	// operator is the store as the operator sees it.
	operator *aitenant.Reconciler
	stones   reconcile.Reconciler
	clock    *clocktesting.FakePassiveClock
	events   *events.FakeRecorder
	// writes counts the operator's; at number crashAt it dies.
	writes, crashAt int
	after           bool
	// failing is how many Jobs fail before one succeeds.
	failing int
	// revoked are the UIDs of tenants whose keys are revoked.
	revoked map[types.UID]bool
	// stuck configs never go, and slow Jobs never end.
	stuck, slow bool
	// byHand says that the keys need no Job.
	byHand bool
}

const doomed types.UID = "uid-1"

func newTheatre(t *testing.T, objects ...client.Object) *theatre {
	t.Helper()
	began := time.Now().Truncate(time.Second)
	for _, o := range objects {
		if o.GetDeletionTimestamp() != nil {
			o.SetDeletionTimestamp(&metav1.Time{Time: began})
		}
	}
	s := &theatre{t: t, began: began, revoked: map[types.UID]bool{}, clock: clocktesting.NewFakePassiveClock(began), events: events.NewFakeRecorder(1000)}
	s.store = fakecluster.Holding(parts.Scheme(t), objects...).
		WithStatusSubresource(&v1alpha1.AITenant{}, &v1alpha1.MaasTenantConfig{}, &batchv1.Job{}).Build()
	seen := interceptor.NewClient(s.store.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return s.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return s.write(func() error { return c.Apply(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return s.write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
	s.operator = &aitenant.Reconciler{
		Client: seen, APIReader: seen, Engine: parts.Engine(t), Applier: apply.New(seen, apply.Options{APIReader: seen}),
		Settings: aitenant.Settings{
			Tenancy: tenancy.Settings{
				Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: defaultGateway},
				DefaultNamespace: defaultNamespace, AITenantNamespace: aitenantNamespace, Discovery: true,
			},
			Tenant: tenant.Settings{Platform: tenant.OpenShift, InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace},
		},
		Events: s.events, Clock: s.clock, DeletionTimeout: deletionTimeout,
	}
	s.stones = aitenant.Tombstones(s.operator)
	return s
}

// write lets the operator die at one write.
func (s *theatre) write(do func() error) error {
	s.writes++
	if s.writes != s.crashAt {
		return do()
	}
	if s.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errCrash
}

// red is a tenant that is set up, and being deleted.
func red() []client.Object {
	t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{
		Namespace: aitenantNamespace, Name: "red", UID: doomed, Generation: 2,
		Finalizers: []string{v1alpha1.FinalizerAITenantCleanup}, DeletionTimestamp: &metav1.Time{},
	}}
	t.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: "red"}
	config := desiredtenant.NewConfig(t, "ai-tenant-red")
	config.Finalizers = []string{v1alpha1.FinalizerTenantCleanup}
	config.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{DeletionRetentionDays: new(int32(7))}
	ns := desiredtenant.NewNamespace(t, "ai-tenant-red")
	ns.Labels["team"] = "users"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenant-red", Name: tenancy.TenantAdminRole("red"), Labels: config.Labels, Annotations: config.Annotations}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenant-red", Name: "of-a-user"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role.Name},
	}
	infra := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: infraNamespace}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
	return []client.Object{t, config, ns, infra, role, binding, secret, desiredtenant.Claim(t, types.NamespacedName{Namespace: gatewayNamespace, Name: "red"})}
}

// turn lets everybody act once.
func (s *theatre) turn(ctx context.Context) {
	s.t.Helper()
	for _, r := range []struct {
		reconcile.Reconciler
		key types.NamespacedName
	}{
		{s.operator, types.NamespacedName{Namespace: aitenantNamespace, Name: "red"}},
		{s.stones, types.NamespacedName{Namespace: aitenantNamespace, Name: desiredtenant.TombstoneName(doomed)}},
	} {
		if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: r.key}); err != nil && !errors.Is(err, errCrash) {
			s.t.Fatalf("write %d: %v", s.writes, err)
		}
		s.check(ctx)
	}
	s.playJobs(ctx)
	s.playConfigs(ctx)
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
}

// playJobs lets the Job of each turn end.
func (s *theatre) playJobs(ctx context.Context) {
	s.t.Helper()
	var jobs batchv1.JobList
	if err := s.store.List(ctx, &jobs); err != nil {
		s.t.Fatal(err)
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if s.slow || len(job.Status.Conditions) > 0 {
			continue
		}
		condition := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.clock.Now())}
		if s.failing > 0 {
			s.failing--
			condition.Type = batchv1.JobFailed
		} else {
			s.revoked[types.UID(job.Annotations[v1alpha1.AnnotationAITenantUID])] = true
		}
		job.Status.Conditions = append(job.Status.Conditions, condition)
		if err := s.store.Status().Update(ctx, job); err != nil {
			s.t.Fatal(err)
		}
	}
}

// playConfigs lets go of configs that are being deleted.
func (s *theatre) playConfigs(ctx context.Context) {
	s.t.Helper()
	var configs v1alpha1.MaasTenantConfigList
	if err := s.store.List(ctx, &configs); err != nil {
		s.t.Fatal(err)
	}
	for i := range configs.Items {
		if c := &configs.Items[i]; c.DeletionTimestamp != nil && !s.stuck {
			c.Finalizers = nil
			if err := s.store.Update(ctx, c); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s *theatre) get(ctx context.Context, namespace, name string, o client.Object) bool {
	s.t.Helper()
	err := s.store.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err == nil
}

// check holds the promise: keys that may work are remembered by an AITenant with its
// finalizer, or by a tombstone; and only when they are revoked is the rest taken down.
func (s *theatre) check(ctx context.Context) {
	s.t.Helper()
	kept := s.get(ctx, aitenantNamespace, "red", &v1alpha1.AITenant{})
	stone := s.get(ctx, aitenantNamespace, desiredtenant.TombstoneName(doomed), &corev1.ConfigMap{})
	if !s.revoked[doomed] && !s.byHand && !kept && !stone {
		s.t.Fatalf("after write %d nobody remembers that keys have to be revoked", s.writes)
	}
	config := &v1alpha1.MaasTenantConfig{}
	served := s.get(ctx, "ai-tenant-red", v1alpha1.DefaultTenantConfigName, config) && config.DeletionTimestamp == nil
	overdue := s.clock.Since(s.began) >= deletionTimeout
	if !s.revoked[doomed] && !s.byHand && !served && !overdue {
		s.t.Fatalf("after write %d the tenant is taken down before its keys are revoked", s.writes)
	}
}

// over tells whether nothing is left to be done.
func (s *theatre) over(ctx context.Context) bool {
	s.t.Helper()
	return !s.get(ctx, aitenantNamespace, "red", &v1alpha1.AITenant{}) &&
		!s.get(ctx, aitenantNamespace, desiredtenant.TombstoneName(doomed), &corev1.ConfigMap{})
}

// play goes on until the end and returns the number of turns.
func (s *theatre) play(ctx context.Context) {
	s.t.Helper()
	for turn := 0; !s.over(ctx); turn++ {
		if turn > 40 {
			s.t.Fatal("no end is in sight")
		}
		s.turn(ctx)
	}
	if !s.revoked[doomed] && !s.byHand {
		s.t.Error("the keys are not revoked")
	}
}

func TestADeletionGoesOnAfterACrashAtAnyWrite(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]int{"the first Job succeeds": 0, "two Jobs fail": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calm := newTheatre(t, red()...)
			calm.failing = failing
			calm.play(t.Context())
			t.Logf("%d writes", calm.writes)
			for at := 1; at <= calm.writes; at++ {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("write %d, done %v", at, after), func(t *testing.T) {
						t.Parallel()
						s := newTheatre(t, red()...)
						s.failing, s.crashAt, s.after = failing, at, after
						s.play(t.Context())
						s.leftovers(t.Context())
					})
				}
			}
		})
	}
}

// leftovers are what stays after a deletion: the users' objects and nothing else.
func (s *theatre) leftovers(ctx context.Context) {
	s.t.Helper()
	var claims corev1.ConfigMapList
	var roles rbacv1.RoleList
	for _, list := range []client.ObjectList{&claims, &roles} {
		if err := s.store.List(ctx, list); err != nil {
			s.t.Fatal(err)
		}
		if meta.LenList(list) > 0 {
			s.t.Errorf("left behind: %v", list)
		}
	}
	if s.get(ctx, "ai-tenant-red", v1alpha1.DefaultTenantConfigName, &v1alpha1.MaasTenantConfig{}) {
		s.t.Error("the MaasTenantConfig is left behind")
	}
	ns := &corev1.Namespace{}
	if !s.get(ctx, "", "ai-tenant-red", ns) || len(ns.Labels) != 1 || ns.Labels["team"] != "users" || len(ns.Annotations) != 0 {
		s.t.Errorf("namespace %v %v", ns.Labels, ns.Annotations)
	}
	if !s.get(ctx, "ai-tenant-red", "of-a-user", &rbacv1.RoleBinding{}) {
		s.t.Error("the user's RoleBinding is gone")
	}
}
