// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// deletionTimeout is the operator's setting how long a deletion may take.
const deletionTimeout = "AITENANT_DELETION_TIMEOUT"

var _ = Describe("While the database is away", Ordered, func() {
	forced := tenant{name: "forced", gateway: "forced", host: "forced.example.com"}
	stuck := tenant{name: "stuck", gateway: "stuck", host: "stuck.example.com"}
	rings := map[string]keyring.Ring{}
	var former *v1alpha1.AITenant

	BeforeAll(func(ctx SpecContext) {
		for _, t := range []tenant{forced, stuck} {
			t.present(ctx)
			rings[t.name] = keyring.Ring{Name: t.name, Tenant: t.name, Subscription: "any"}
			Expect(rings[t.name].Store(ctx, database, 0, 1)).To(Succeed())
		}
		for _, t := range []tenant{forced, stuck} {
			Eventually(t.valid(ctx, rings[t.name].Text(0))).Should(BeTrue())
		}
		former = get(ctx, stage.AITenantNamespace, forced.name, forced.object())
		create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: forced.namespace(), Name: "ours"}})
		Expect(server.Down()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !server.Process().Alive() {
				Expect(server.Up(ctx)).To(Succeed())
			}
		})
	})

	It("a deletion is ended by force after the time for it, with a warning and a tombstone (E-94, A80)", func(ctx SpecContext) {
		restart(ctx, "4s")
		Expect(on.Admin.Delete(ctx, forced.object())).To(Succeed())
		Eventually(gone(ctx, forced.object())).Should(BeTrue())
		Eventually(eventsAbout(ctx, forced.name)).Should(ContainElement(HavePrefix("Warning AITenantCleanupForced: ")))
		Expect(tombstones(ctx)).To(ConsistOf(HaveField("Data", HaveKeyWithValue("aiTenantUID", string(former.UID)))))
		get(ctx, "", forced.namespace(), &corev1.Namespace{})
		get(ctx, forced.namespace(), "ours", &corev1.Secret{})
	})

	It("a new tenant of that name waits for the keys of the former one (E-98, E-176)", func(ctx SpecContext) {
		restart(ctx, "0") // Now nothing is forced any more.
		create(ctx, forced.object())
		Eventually(forced.state(ctx)).Should(Equal("Pending FormerKeysPending"))
	})

	It("a deletion is blocked and says why, and nothing is taken down (E-89, E-96, E-180)", func(ctx SpecContext) {
		Expect(on.Admin.Delete(ctx, stuck.object())).To(Succeed())
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: tenancy.KeyRevocation(stuck.name)}}
		Eventually(gone(ctx, job)).Should(BeFalse())
		Eventually(func() string { return logOf(job.Name) }).Should(ContainSubstring("database"), "what the Job says")
		first := job.UID
		change(ctx, job, func(o *batchv1.Job) { o.Spec.ActiveDeadlineSeconds = new(int64(1)) }) // Two minutes are long.
		Eventually(stuck.state(ctx)).Should(Equal("Terminating DeletionBlocked"))
		Expect(stuck.says(ctx)()).To(And(ContainSubstring("Job "+infra+"/"+job.Name+" failed"), ContainSubstring(v1alpha1.DatabaseSecretName)))
		Eventually(func() (bool, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(job), job)
			return err != nil || job.UID != first || job.DeletionTimestamp != nil, client.IgnoreNotFound(err)
		}).Should(BeTrue(), "the failed Job goes")
		Consistently(func() (*metav1.Time, error) {
			config := &v1alpha1.MaasTenantConfig{}
			err := on.Admin.Get(ctx, types.NamespacedName{Namespace: stuck.namespace(), Name: v1alpha1.DefaultTenantConfigName}, config)
			return config.DeletionTimestamp, err
		}).Should(BeNil())
		Expect(gone(ctx, stuck.deployment())()).To(BeFalse())
	})

	It("the keys of the tenant that went by force are revoked once it is back, and its tombstone goes", func(ctx SpecContext) {
		Expect(server.Up(ctx)).To(Succeed())
		Eventually(func() ([]corev1.ConfigMap, error) {
			stones, err := tombstones(ctx)
			return ofTenant(stones, former.UID), err
		}).Should(BeEmpty())
		status, reason, _ := row(ctx, rings[forced.name].ID(0))
		Expect(status + ", " + reason).To(Equal("revoked, tenant deleted"))
		forced.await(ctx)
		Expect(forced.valid(ctx, rings[forced.name].Text(0))()).To(BeFalse())
	})

	It("the deletion that was blocked goes on by itself", func(ctx SpecContext) {
		Eventually(gone(ctx, stuck.object())).Should(BeTrue())
		status, reason, kept := row(ctx, rings[stuck.name].ID(0))
		Expect(status + ", " + reason).To(Equal("revoked, tenant deleted"))
		const days = 90 * 24
		Expect(kept.Hours()).To(BeNumerically("~", days, 1))
		Expect(tombstones(ctx)).To(BeEmpty())
	})

	It("Gateways were only read (E-83)", func() {
		Expect(on.Env.Audit().Writes(testenv.OperatorUser, audit.ByResource(gwapiv1.GroupName, "gateways"))).To(BeEmpty())
	})
})

// restart starts the operator again with another time that deletions may take.
func restart(ctx context.Context, timeout string) {
	GinkgoHelper()
	Expect(on.Operator.Stop()).To(Succeed())
	on.Operator.Setenv(deletionTimeout, timeout)
	Expect(on.Operator.Start(ctx)).To(Succeed())
}

// eventsAbout are the events about an AITenant.
func eventsAbout(ctx context.Context, name string) func() ([]string, error) {
	return func() ([]string, error) {
		list := &eventsv1.EventList{}
		err := on.Admin.List(ctx, list)
		var all []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Kind == v1alpha1.KindAITenant && e.Regarding.Name == name {
				all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
			}
		}
		return all, err
	}
}

// ofTenant are the tombstones of one tenant.
func ofTenant(stones []corev1.ConfigMap, uid types.UID) []corev1.ConfigMap {
	var own []corev1.ConfigMap
	for _, s := range stones {
		if s.Data["aiTenantUID"] == string(uid) {
			own = append(own, s)
		}
	}
	return own
}
