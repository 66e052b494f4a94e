// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// create creates objects, and then their status.
func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		status, ok := object.DeepCopyObject().(client.Object)
		Expect(ok).To(BeTrue())
		Expect(suite.admin.Create(ctx, object)).To(Succeed())
		if _, policy := object.(*v1alpha1.MaaSAuthPolicy); policy {
			continue
		}
		status.SetResourceVersion(object.GetResourceVersion())
		Expect(suite.admin.Status().Update(ctx, status)).To(Succeed())
	}
}

// model is one with an alias, of the named tenant.
func model(name, owner string) *v1alpha1.MaaSModelRef {
	return builder.ModelRef(modelNamespace, name).Status(v1alpha1.MaaSModelRefStatus{
		Tenant: owner, Phase: v1alpha1.ModelPhaseReady, ResolvedModelAlias: "publishers/llm/models/" + name,
	}).Obj()
}

func gold(name string, models ...string) *builder.SubscriptionBuilder {
	b := builder.Subscription(tenant, name)
	for _, m := range models {
		b = b.Limit(builder.Key(modelNamespace, m), 100, "1m")
	}
	return b
}

// The specs go through the life of one process, in order.
var _ = Describe("maas-api on an API server", Ordered, func() {
	It("says what is missing while the CRDs are not installed, and goes on when they are", func(ctx SpecContext) {
		Eventually(suite.log.String).Should(And(ContainSubstring("Cannot follow a kind"), ContainSubstring("resource=maassubscriptions"), ContainSubstring("install the CRDs")))
		Expect(suite.patient.Snapshot()).To(BeNil())
		// Each kind is asked for by itself.
		Eventually(suite.patient.Ready).Should(MatchError(And(ContainSubstring("maasmodelrefs: the API server does not serve the kind"), ContainSubstring("maasauthpolicies: "))))
		Eventually(func() any { return value("maas_api_watch_failures_total", "maasmodelrefs") }).Should(BeNumerically(">", 0))

		Expect(suite.env.InstallCRDs(ctx, testenv.MaaS)).To(Succeed())
		for _, cache := range []*kube.Cache{suite.patient, suite.cautious} {
			Eventually(cache.Ready).Should(Succeed())
		}
		Expect(suite.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: modelNamespace}})).To(Succeed())
	})

	It("follows models, subscriptions and auth policies", func(ctx SpecContext) {
		granite := builder.Key(modelNamespace, "granite")
		create(ctx, model("granite", tenant), gold("gold", "granite").Phase(v1alpha1.PhaseActive).Obj())
		Eventually(selected).WithArguments(suite.patient, "publishers/llm/models/granite", "").Should(Equal("models-as-a-service/gold@llm/granite denied"))

		policy := builder.AuthPolicy(tenant, "readers", granite).Obj()
		create(ctx, policy)
		Eventually(selected).WithArguments(suite.patient, "llm/granite", "gold").Should(Equal("models-as-a-service/gold@llm/granite"))

		By("taking a right away within a second")
		Expect(suite.admin.Delete(ctx, policy)).To(Succeed())
		Eventually(selected).WithTimeout(time.Second).WithArguments(suite.patient, "llm/granite", "gold").Should(HaveSuffix(" denied"))
		create(ctx, builder.AuthPolicy(tenant, "readers", granite).Obj())
		Eventually(selected).WithArguments(suite.patient, "llm/granite", "gold").ShouldNot(HaveSuffix(" denied"))
		Expect(value("maas_api_snapshot_objects", "maassubscriptions")).To(BeEquivalentTo(1))
		Expect(suite.patient.Snapshot().Model(granite).Spec.ModelRef.Name).To(Equal("granite"))
	})

	It("knows nothing of other tenants' models and of subscriptions elsewhere", func(ctx SpecContext) {
		foreign := model("foreign", "red")
		foreign.Status.ResolvedModelAlias = "granite-alias"
		elsewhere := gold("elsewhere", "granite").Phase(v1alpha1.PhaseActive).Obj()
		elsewhere.Namespace = modelNamespace
		create(ctx, foreign, elsewhere, gold("mixed", "foreign").Phase(v1alpha1.PhaseActive).Obj())
		Eventually(func() float64 { return value("maas_api_snapshot_objects", "maassubscriptions") }).Should(BeEquivalentTo(2))
		Expect(selected(suite.patient, "llm/granite", "")).To(Equal("models-as-a-service/gold@llm/granite"))
		Expect(selected(suite.patient, "llm/foreign", "mixed")).To(Equal("model_unhealthy"))
		Expect(selected(suite.patient, "granite-alias", "mixed")).To(Equal("model_not_in_subscription"))
		Expect(suite.patient.Snapshot().Model(builder.Key(modelNamespace, "foreign"))).To(BeNil())
	})

	It("makes no snapshot for what it does not read", func(ctx SpecContext) {
		s := &v1alpha1.MaaSSubscription{}
		Expect(suite.admin.Get(ctx, builder.Key(tenant, "gold"), s)).To(Succeed())
		before := value("maas_api_snapshot_builds_total", "")
		for i := range 20 {
			s.Labels = map[string]string{"turn": fmt.Sprint(i)}
			Expect(suite.admin.Update(ctx, s)).To(Succeed())
		}
		s.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Gold"} // The last event, which is read.
		Expect(suite.admin.Update(ctx, s)).To(Succeed())
		Eventually(func() string {
			c, _ := entitlement.FromToken("alice", []string{"engineers"})
			return string(suite.patient.Snapshot().AppendSelectReply(nil, c, entitlement.Request{Subscription: "gold"}))
		}).Should(ContainSubstring(`"displayName":"Gold"`))
		Expect(value("maas_api_snapshot_builds_total", "") - before).To(BeEquivalentTo(1))
	})

	It("makes few snapshots of many changes", func(ctx SpecContext) {
		before := value("maas_api_snapshot_builds_total", "")
		for i := range 100 {
			create(ctx, builder.AuthPolicy(tenant, fmt.Sprintf("policy-%d", i), builder.Key(modelNamespace, "granite")).Obj())
		}
		Eventually(func() float64 { return value("maas_api_snapshot_objects", "maasauthpolicies") }).Should(BeEquivalentTo(101))
		Expect(value("maas_api_snapshot_builds_total", "") - before).To(BeNumerically("<", 60))
	})

	It("leaves out an object that an earlier schema let in, and keeps the others", func(ctx SpecContext) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		Expect(suite.admin.Get(ctx, client.ObjectKey{Name: "maassubscriptions.maas.opendatahub.io"}, crd)).To(Succeed())
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		Expect(err).NotTo(HaveOccurred())
		version, ok := versions[0].(map[string]any)
		Expect(ok).To(BeTrue())
		Expect(unstructured.SetNestedMap(version, map[string]any{"type": "integer"}, "schema", "openAPIV3Schema", "properties", "spec", "properties", "priority")).To(Succeed())
		Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
		Expect(suite.admin.Update(ctx, crd)).To(Succeed())

		huge := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "MaaSSubscription", "metadata": map[string]any{"namespace": tenant, "name": "huge"},
			"spec": map[string]any{
				"priority": int64(5_000_000_000), "owner": map[string]any{"groups": []any{map[string]any{"name": "engineers"}}},
				"modelRefs": []any{map[string]any{"name": "granite", "namespace": modelNamespace, "unlimited": true}},
			},
		}}
		Eventually(func() error { return suite.admin.Create(ctx, huge.DeepCopy()) }).Should(Succeed())
		Eventually(suite.log.String).Should(And(ContainSubstring("Leaving out an object"), ContainSubstring("name=huge")))
		create(ctx, gold("silver", "granite").Phase(v1alpha1.PhaseActive).Obj())
		Eventually(selected).WithArguments(suite.patient, "llm/granite", "silver").Should(Equal("models-as-a-service/silver@llm/granite"))
		Expect(value("maas_api_snapshot_skipped_objects", "maassubscriptions")).To(BeEquivalentTo(1))
		Expect(selected(suite.patient, "llm/granite", "huge")).To(Equal("access_denied"))
	})

	It("tells admins, whose answers it remembers, and is not slow about many", func(ctx SpecContext) {
		create := []client.Object{
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "admins"}, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"maasauthpolicies"}, Verbs: []string{"create"}},
			}},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "admins"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "admins"},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "admins"}},
			},
		}
		for _, object := range create {
			Expect(suite.admin.Create(ctx, object)).To(Succeed())
		}
		r, err := kube.NewReviewer(kube.ReviewerOptions{Clients: suite.clients, Namespace: tenant, Clock: clock.RealClock{}, Registerer: prometheus.NewRegistry()})
		Expect(err).NotTo(HaveOccurred())
		admin := func(name string, groups ...string) func() (bool, error) {
			return func() (bool, error) {
				c, err := entitlement.FromToken(name, groups)
				Expect(err).NotTo(HaveOccurred())
				return r.IsAdmin(ctx, c)
			}
		}
		Eventually(admin("root", "admins")).Should(BeTrue())
		Expect(admin("alice", "engineers")()).To(BeFalse())

		began := clock.RealClock{}.Now()
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				defer GinkgoRecover()
				Expect(admin(fmt.Sprintf("user-%d", i), "admins")()).To(BeTrue())
			})
		}
		group.Wait()
		took := clock.RealClock{}.Since(began)
		AddReportEntry("60 cold users", took.String())
		Expect(took).To(BeNumerically("<", 3*time.Second))
	})

	It("knows whose a token is, and sends no API key anywhere", func(ctx SpecContext) {
		r, err := kube.NewReviewer(kube.ReviewerOptions{Clients: suite.clients, Namespace: tenant, Clock: clock.RealClock{}, Registerer: prometheus.NewRegistry()})
		Expect(err).NotTo(HaveOccurred())
		set, err := kubernetes.NewForConfig(suite.env.AdminConfig())
		Expect(err).NotTo(HaveOccurred())
		token, err := set.CoreV1().ServiceAccounts(infraNamespace).CreateToken(ctx, "maas-api", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		user, err := r.ReviewToken(ctx, token.Status.Token)
		Expect(err).NotTo(HaveOccurred())
		Expect(user.Username).To(Equal(account().User()))
		Expect(r.MayUseCluster(ctx, user)).To(BeTrue())
		Expect(r.MayUseCluster(ctx, kube.User{Username: "nobody"})).To(BeFalse())
		reviews := func() int {
			events, err := suite.env.Audit().Events(audit.ByUser(account().User()), audit.ByResource("authentication.k8s.io", "tokenreviews"))
			Expect(err).NotTo(HaveOccurred())
			return len(events)
		}
		Eventually(reviews).Should(Equal(1))
		_, err = r.ReviewToken(ctx, "sk-oai-whatever")
		Expect(err).To(MatchError(kube.ErrUnauthenticated))
		_, err = r.ReviewToken(ctx, "nonsense")
		Expect(err).To(MatchError(kube.ErrUnauthenticated))
		Eventually(reviews).Should(Equal(2))
	})

	It("finds the gateway and the database", func(ctx SpecContext) {
		gateway := builder.Gateway(builder.Key(gatewayNamespace, "maas-default-gateway"), "maas.example.com")
		Expect(suite.admin.Create(ctx, gateway)).To(Succeed())
		g, err := kube.NewGateways(kube.GatewaysOptions{Clients: suite.clients, Gateway: client.ObjectKeyFromObject(gateway), Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler)})
		Expect(err).NotTo(HaveOccurred())
		_, err = g.External(ctx)
		Expect(err).To(MatchError(kube.ErrNoHost))
		_, err = g.GatewayAddress(ctx)
		Expect(err).To(MatchError(kube.ErrNoGatewayService))

		listener := gateway.Spec.Listeners[0].Name
		gateway.Status.Listeners = []gwapiv1.ListenerStatus{{Name: listener, AttachedRoutes: 1, Conditions: []metav1.Condition{}}}
		Expect(suite.admin.Status().Update(ctx, gateway)).To(Succeed())
		external, err := g.External(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(external.URL).To(ContainSubstring("://maas.example.com"))

		Expect(suite.admin.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: gatewayNamespace, Name: "maas-default-gateway-istio", Labels: map[string]string{"gateway.networking.k8s.io/gateway-name": gateway.Name},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: gwapiv1.GroupVersion.String(), Kind: "Gateway", Name: gateway.Name, UID: gateway.UID}},
			},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		})).To(Succeed())
		Eventually(func() (string, error) { return g.GatewayAddress(ctx) }).Should(Equal("maas-default-gateway-istio.openshift-ingress.svc.cluster.local"))

		Expect(suite.admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-db-config"}, StringData: map[string]string{"DB_CONNECTION_URL": "postgres://db/maas"},
		})).To(Succeed())
		Expect(suite.clients.DatabaseURL(ctx, infraNamespace, "maas-db-config", "DB_CONNECTION_URL")).To(Equal("postgres://db/maas"))
	})

	It("may do what it does: the API server has refused nothing", func() {
		events, err := suite.env.Audit().Events(audit.ByUser(account().User()), audit.Forbidden())
		Expect(err).NotTo(HaveOccurred())
		Expect(events).To(BeEmpty())
	})

	It("uses every right it has but those of OpenShift", func() {
		for _, right := range kube.Rights() {
			if right.Group == "config.openshift.io" {
				continue
			}
			for _, verb := range right.Verbs {
				Eventually(func() ([]audit.Event, error) {
					return suite.env.Audit().Events(audit.ByUser(account().User()), audit.ByVerb(verb), audit.ByResource(right.Group, right.Resource))
				}).ShouldNot(BeEmpty(), "%s %s", verb, right.Resource)
			}
		}
	})

	It("answers no longer than it may while the API server hangs, and goes on when it does", func(ctx SpecContext) {
		Consistently(suite.cautious.Ready).WithTimeout(maxAge + 2*checkInterval).WithPolling(100 * time.Millisecond).Should(Succeed())
		Expect(signal(syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func() { _ = signal(syscall.SIGCONT) }) // It may have ended.
		Eventually(suite.cautious.Snapshot).WithTimeout(maxAge + 5*checkInterval).Should(BeNil())
		Expect(suite.cautious.Ready()).To(MatchError(ContainSubstring("last contact")))
		Expect(suite.patient.Ready()).To(Succeed())
		Expect(suite.patient.Age()).To(BeNumerically(">", checkInterval))
		Expect(selected(suite.patient, "llm/granite", "silver")).To(Equal("models-as-a-service/silver@llm/granite"))

		Expect(signal(syscall.SIGCONT)).To(Succeed())
		Eventually(suite.cautious.Ready).WithTimeout(time.Minute).Should(Succeed())
		silver := builder.Key(tenant, "silver")
		Expect(suite.admin.Delete(ctx, &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: silver.Namespace, Name: silver.Name}})).To(Succeed())
		Eventually(selected).WithTimeout(time.Minute).WithArguments(suite.cautious, "llm/granite", "silver").Should(Equal("access_denied"))
	})

	It("answers no longer than it may after the API server ended, and stops all the same", func() {
		Expect(suite.env.Stop()).To(Succeed())
		Eventually(suite.cautious.Snapshot).WithTimeout(maxAge + 5*checkInterval).Should(BeNil())
		Expect(selected(suite.patient, "llm/granite", "gold")).To(Equal("models-as-a-service/gold@llm/granite"))
		Eventually(func() float64 { return value("maas_api_snapshot_age_seconds", "") }).Should(BeNumerically(">", maxAge.Seconds()))
		Eventually(suite.log.String).Should(ContainSubstring("cannot be reached"))
	})
})

// signal is sent to the API server, which must be running.
func signal(what syscall.Signal) error {
	programs, err := testenv.Inspect(suite.env.Dir())
	if err != nil {
		return fmt.Errorf("list the programs: %w", err)
	}
	for _, p := range programs {
		if p.Name == "kube-apiserver" && p.Running {
			return syscall.Kill(p.PID, what)
		}
	}
	return errors.New("no API server is running")
}
