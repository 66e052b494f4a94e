// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

var (
	// doomed is deleted and made again. The rows of its keys are kept for a week.
	doomed = tenant{name: "doomed", gateway: "doomed", host: "doomed.example.com", quota: 400}
	// leaving is deleted together with its namespace.
	leaving = tenant{name: "leaving", gateway: "leaving", host: "leaving.example.com"}
)

const (
	// hold is a finalizer of somebody who takes his time.
	hold = "tests.example.com/hold"
	week = 7 * 24 * time.Hour
)

var _ = Describe("A tenant that is deleted", Ordered, func() {
	var (
		key      service.CreatedKey
		before   *v1alpha1.AITenant
		pending  *batchv1.Job
		mine     []client.Object
		heldBack *v1alpha1.MaaSSubscription
	)
	t := doomed

	BeforeAll(func(ctx SpecContext) {
		t.present(ctx)
		t.furnish(ctx)
		change(ctx, &v1alpha1.MaasTenantConfig{ObjectMeta: configMeta(t)}, func(o *v1alpha1.MaasTenantConfig) {
			o.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{DeletionRetentionDays: new(int32(week / (24 * time.Hour)))}
		})
		Eventually(func() (int, error) {
			return statusOf(t.visitor().Bearer(t.token()).Do(ctx, http.MethodGet, "/v1/models", nil))
		}).Should(Equal(http.StatusOK))
		key = t.newKey(ctx, "of the doomed")
		before = get(ctx, stage.AITenantNamespace, t.name, t.object())
		mine = thingsOfUsers(ctx, t)
		heldBack = get(ctx, t.namespace(), t.subscription(), &v1alpha1.MaaSSubscription{})
		change(ctx, heldBack, func(o *v1alpha1.MaaSSubscription) { o.Finalizers = append(o.Finalizers, hold) })
	})

	It("accepts no proof of a former tenant's Job (E-86, E-98)", func(ctx SpecContext) {
		former := formerJob(t)
		create(ctx, former)
		Eventually(completed(ctx, former)).Should(BeTrue())
		Expect(on.Admin.Delete(ctx, t.object())).To(Succeed())
		pending = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: former.Name}}
		Eventually(func() (types.UID, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(pending), pending)
			return types.UID(pending.Annotations[v1alpha1.AnnotationAITenantUID]), client.IgnoreNotFound(err)
		}).Should(Equal(before.UID))
		Expect(pending.UID).NotTo(Equal(former.UID))
	})

	It("has its keys revoked by a Job on the database, without a token (E-84)", func() {
		Expect(pending.Spec.BackoffLimit).To(HaveValue(BeEquivalentTo(2)))
		Expect(pending.Spec.ActiveDeadlineSeconds).To(HaveValue(BeEquivalentTo(120)))
		Expect(pending.Spec.TTLSecondsAfterFinished).To(HaveValue(BeEquivalentTo(300)))
		spec := pending.Spec.Template.Spec
		Expect(spec.ServiceAccountName).To(Equal(tenancy.CleanupServiceAccount))
		Expect(spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
		Expect(spec.Containers[0].Args).To(Equal([]string{"revoke", "--tenant", t.name, "--tenant-uid", string(before.UID)}))
	})

	It("has no key that works from then on, although its maas-api still runs (E-175)", func(ctx SpecContext) {
		Eventually(revoked(ctx, t)).Should(BeTrue())
		Eventually(completed(ctx, pending)).Should(BeTrue())
		Expect(t.valid(ctx, key.Key)()).To(BeFalse())
		Expect(statusOf(t.visitor().Bearer(key.Key).Do(ctx, http.MethodGet, t.path()+"/v1/models", nil))).To(Equal(http.StatusForbidden))
		response := must(t.direct(ctx).As(caller, group).Do(ctx, http.MethodPost, "/v1/api-keys", service.CreateKey{Name: "late", Subscription: t.subscription()}))
		Expect(response.Status).NotTo(Equal(http.StatusCreated), "a new key of a tenant that is being deleted")
	})

	It("keeps the rows of its keys for as long as its settings say (E-175)", func(ctx SpecContext) {
		status, reason, kept := row(ctx, key.ID)
		Expect(status).To(Equal("revoked"))
		Expect(reason).To(Equal("tenant deleted"))
		Expect(kept).To(BeNumerically("~", week, time.Minute))
	})

	It("keeps the Job while its services are taken down (E-85, E-88)", func(ctx SpecContext) {
		config := get(ctx, t.namespace(), v1alpha1.DefaultTenantConfigName, &v1alpha1.MaasTenantConfig{})
		Eventually(func() (*metav1.Time, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(config), config)
			return config.DeletionTimestamp, err
		}).ShouldNot(BeNil())
		Consistently(func() (types.UID, error) {
			job := &batchv1.Job{}
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(pending), job)
			return job.UID, err
		}).Should(Equal(pending.UID))
		Expect(t.state(ctx)()).To(Equal("Terminating DeletionInProgress"))
	})

	It("goes with all that was made for it, and leaves what users have (E-83, E-93)", func(ctx SpecContext) {
		change(ctx, heldBack, func(o *v1alpha1.MaaSSubscription) { o.Finalizers = nil })
		Eventually(gone(ctx, t.object())).Should(BeTrue())
		for _, o := range []client.Object{
			&v1alpha1.MaasTenantConfig{ObjectMeta: configMeta(t)},
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: tenancy.TenantAdminRole(t.name)}},
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: tenancy.ObjectAdminRole(t.name)}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: tenancy.GatewayClaim(stage.GatewayNamespace, t.gateway)}},
			t.deployment(),
			&gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: t.names().MaaSAPIRoute()}},
		} {
			Eventually(gone(ctx, o)).Should(BeTrue(), "%T %s", o, client.ObjectKeyFromObject(o))
		}
		Expect(tombstones(ctx)).To(BeEmpty())
		Eventually(eventsAbout(ctx, t.name)).Should(ContainElement(And(
			HavePrefix("Warning AITenantCleanedUp: "), ContainSubstring(t.namespace()+"/our-admins"))), "bindings that the next tenant of the name would have")
		for _, o := range mine {
			left := o.DeepCopyObject().(client.Object)
			Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(o), left)).To(Succeed(), "%T %s", o, client.ObjectKeyFromObject(o))
			Expect(left.GetUID()).To(Equal(o.GetUID()))
			Expect(left.GetDeletionTimestamp()).To(BeNil())
		}
		namespace := get(ctx, "", t.namespace(), &corev1.Namespace{})
		Expect(namespace.Labels).To(HaveKeyWithValue("team", "doomed"))
		Expect(namespace.Labels).NotTo(Or(HaveKey(v1alpha1.LabelTenantName), HaveKey(v1alpha1.LabelManagedByAITenant), HaveKey(v1alpha1.LabelManagedBy)))
		Expect(namespace.Annotations).NotTo(Or(HaveKey(v1alpha1.AnnotationAITenantName), HaveKey(v1alpha1.AnnotationAITenantUID)))
		Expect(get(ctx, stage.GatewayNamespace, t.gateway, &gwapiv1.Gateway{}).Labels).To(HaveKeyWithValue("team", "doomed"))
	})

	It("can be made again under its name, and takes no key of its predecessor (E-98, E-176)", func(ctx SpecContext) {
		t.present(ctx)
		again := get(ctx, stage.AITenantNamespace, t.name, t.object())
		Expect(again.UID).NotTo(Equal(before.UID))
		Expect(meta.FindStatusCondition(again.Status.Conditions, string(v1alpha1.ConditionAPIKeysRevoked))).To(BeNil())
		Expect(t.template(ctx).Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "TENANT_UID", Value: string(again.UID)}))
		t.entitle(ctx)
		fresh := must(t.direct(ctx).As(caller, group).Create(ctx, service.CreateKey{Name: "of the successor", Subscription: t.subscription()}))
		Expect(t.valid(ctx, fresh.Key)()).To(BeTrue())
		Expect(t.valid(ctx, key.Key)()).To(BeFalse())
		Expect(must(t.direct(ctx).As(caller, group).Search(ctx, map[string]any{})).Data).To(ContainElement(HaveField("ID", fresh.ID)))
	})

	It("has the rows of its keys deleted once their time has come, and no others (E-175)", func(ctx SpecContext) {
		runCleanup(ctx, theDefault, "too-early")
		Expect(exists(ctx, key.ID)).To(BeTrue(), "a week is not over")
		must(rows.Exec(ctx, `UPDATE api_keys SET purge_after = now() - interval '1 second' WHERE id = $1`, key.ID))
		count := counted(ctx)
		runCleanup(ctx, theDefault, "in-time")
		Expect(exists(ctx, key.ID)).To(BeFalse())
		Expect(counted(ctx)).To(Equal(count - 1))
	})
})

var _ = Describe("Keys that somebody says he has revoked", Ordered, func() {
	t := tenant{name: "by-hand", gateway: "by-hand", host: "by-hand.example.com"}
	ring := keyring.Ring{Name: "byhand", Tenant: t.name, Subscription: "any"}

	It("need no Job (E-97)", func(ctx SpecContext) {
		t.present(ctx)
		Expect(ring.Store(ctx, database, 0, 1)).To(Succeed())
		Eventually(t.valid(ctx, ring.Text(0))).Should(BeTrue())
		change(ctx, t.object(), func(o *v1alpha1.AITenant) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationAPIKeysRevoked, "true")
		})
		Expect(on.Admin.Delete(ctx, t.object())).To(Succeed())
		Eventually(gone(ctx, t.object())).Should(BeTrue())
		status, _, _ := row(ctx, ring.ID(0))
		Expect(status).To(Equal("active"), "nobody has revoked it")
	})

	It("do not work in the next tenant of the name even then (E-176)", func(ctx SpecContext) {
		t.present(ctx)
		Expect(t.valid(ctx, ring.Text(0))()).To(BeFalse())
		status, reason, kept := row(ctx, ring.ID(0))
		Expect(status + ", " + reason).To(Equal("revoked, tenant replaced"))
		Expect(kept).To(BeNumerically(">", week))
	})
})

var _ = Describe("A tenant whose namespace is being deleted", func() {
	It("is deleted all the same (E-91)", func(ctx SpecContext) {
		t := leaving
		t.present(ctx)
		slow := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: "slow", Finalizers: []string{hold}}}
		create(ctx, slow)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace()}}
		Expect(on.Admin.Delete(ctx, namespace)).To(Succeed())
		Expect(on.Admin.Delete(ctx, t.object())).To(Succeed())
		Eventually(gone(ctx, t.object())).Should(BeTrue())
		Expect(gone(ctx, namespace)()).To(BeFalse())
		change(ctx, slow, func(o *corev1.ConfigMap) { o.Finalizers = nil })
		Eventually(gone(ctx, namespace)).Should(BeTrue())
	})
})

var _ = Describe("The default tenant", Ordered, func() {
	It("can be deleted like any other, and does not come back by itself (E-92, E-93)", func(ctx SpecContext) {
		sideBySide(ctx)
		policies := []*unstructured.Unstructured{formerPolicy("maas-gateway-auth", nil), formerPolicy(stage.GatewayName+"-maas-auth", map[string]string{v1alpha1.AnnotationManaged: "false"})}
		create(ctx, policies[0], policies[1])
		key := theDefault.newKey(ctx, "of the default tenant")
		Expect(on.Admin.Delete(ctx, theDefault.object())).To(Succeed())
		Eventually(gone(ctx, theDefault.object())).Should(BeTrue())
		Expect(gone(ctx, policies[0])()).To(BeTrue())
		Expect(gone(ctx, policies[1])()).To(BeFalse(), "the policy that is not to be managed")
		status, _, _ := row(ctx, key.ID)
		Expect(status).To(Equal("revoked"))
		get(ctx, "", theDefault.namespace(), &corev1.Namespace{})
		get(ctx, stage.GatewayNamespace, theDefault.gateway, &gwapiv1.Gateway{})

		Expect(on.Operator.Stop()).To(Succeed())
		Expect(on.Operator.Start(ctx)).To(Succeed())
		Consistently(gone(ctx, theDefault.object())).Should(BeTrue())
		Expect(gone(ctx, theDefault.deployment())()).To(BeTrue())
	})

	It("can be made again by hand", func(ctx SpecContext) {
		create(ctx, theDefault.object())
		theDefault.await(ctx)
		theDefault.entitle(ctx)
	})
})

// configMeta names the tenant's MaasTenantConfig.
func configMeta(t tenant) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace(), Name: v1alpha1.DefaultTenantConfigName}
}

// thingsOfUsers makes what users may have in a tenant's namespace, and marks the
// namespace and the Gateway as theirs.
func thingsOfUsers(ctx context.Context, t tenant) []client.Object {
	GinkgoHelper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: "our-admins"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: tenancy.TenantAdminRole(t.name)},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "our-admins"}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: "ours"}}
	kept := formerPolicy(t.gateway+"-maas-auth", map[string]string{v1alpha1.AnnotationManaged: "false"})
	create(ctx, binding, secret, kept)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace()}}
	gateway := builder.Gateway(t.gatewayKey(), t.host)
	mark := func(o client.Object) {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["team"] = "doomed"
		o.SetLabels(labels)
	}
	change(ctx, namespace, func(o *corev1.Namespace) { mark(o) })
	change(ctx, gateway, func(o *gwapiv1.Gateway) { mark(o) })
	return []client.Object{binding, secret, kept, namespace, gateway}
}

// formerPolicy is an AuthPolicy as an earlier release put it on Gateways.
func formerPolicy(name string, annotations map[string]string) *unstructured.Unstructured {
	o := kuadrant.New(kuadrant.AuthPolicy)
	o.SetNamespace(stage.GatewayNamespace)
	o.SetName(name)
	o.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	o.SetAnnotations(annotations)
	o.Object["spec"] = map[string]any{
		// Nobody else's routes are below this one.
		"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": "of-nobody"},
		"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
	}
	return o
}

// formerJob is the Job of an earlier tenant of the same name, which will be complete.
func formerJob(t tenant) *batchv1.Job {
	labels := map[string]string{"app.kubernetes.io/part-of": "models-as-a-service"}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: infra, Name: tenancy.KeyRevocation(t.name), Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue},
			Annotations: map[string]string{v1alpha1.AnnotationAITenantUID: "of-a-former-one", v1alpha1.AnnotationAITenantName: t.name, v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "revoke-keys", Image: installation.Image, Args: []string{"version"}}},
			},
		}},
	}
}

// revoked tells whether the AITenant says that its keys are revoked.
func revoked(ctx context.Context, t tenant) func() (bool, error) {
	return func() (bool, error) {
		o := t.object()
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
		return meta.IsStatusConditionTrue(o.Status.Conditions, string(v1alpha1.ConditionAPIKeysRevoked)), err
	}
}

// completed tells whether a Job is complete. One that failed never will be.
func completed(ctx context.Context, job *batchv1.Job) func() (bool, error) {
	return func() (bool, error) {
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobFailed {
				return false, StopTrying("it failed: " + c.Message)
			}
			if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobComplete {
				return true, nil
			}
		}
		return false, nil
	}
}

// tombstones are the ConfigMaps that remember tenants whose keys may still work.
func tombstones(ctx context.Context) ([]corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	err := on.Admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelTenantTombstone: "true"})
	return list.Items, err
}

// row is what the database has of a key: its status, why it ended, and for how long
// from then on the row is kept.
func row(ctx context.Context, id string) (status, reason string, kept time.Duration) {
	GinkgoHelper()
	var seconds float64
	Expect(rows.QueryRow(ctx, `SELECT status, coalesce(invalidation_reason, ''), coalesce(extract(epoch FROM purge_after - invalidated_at), 0)::float8
		FROM api_keys WHERE id = $1`, id).Scan(&status, &reason, &seconds)).To(Succeed())
	return status, reason, time.Duration(seconds * float64(time.Second))
}

func exists(ctx context.Context, id string) bool {
	GinkgoHelper()
	var found bool
	Expect(rows.QueryRow(ctx, `SELECT EXISTS (SELECT FROM api_keys WHERE id = $1)`, id).Scan(&found)).To(Succeed())
	return found
}

// counted is the number of all keys.
func counted(ctx context.Context) (count int) {
	GinkgoHelper()
	Expect(rows.QueryRow(ctx, `SELECT count(*) FROM api_keys`).Scan(&count)).To(Succeed())
	return count
}
