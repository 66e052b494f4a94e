// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestManager(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "the manager on a bare API server")
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// The manager can run once in a process, so these specs are its one life.
var _ = Describe("The manager", Ordered, func() {
	var (
		env    *testenv.Env
		admin  client.Client
		config Config
		logs   buffer
		others []goleak.Option
		stop   context.CancelFunc
		ended  chan error
		scrape scraper
	)

	get := func(url string) (int, error) {
		insecure := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		}}
		response, err := insecure.Get(url)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	probe := func(path string) func() (int, error) {
		return func() (int, error) { return get("http://" + config.HealthProbeBindAddress + path) }
	}
	lease := func(ctx context.Context) func(Gomega) string {
		return func(g Gomega) string {
			var l coordinationv1.Lease
			key := types.NamespacedName{Namespace: testenv.OperatorNamespace, Name: leaderElectionID}
			g.Expect(admin.Get(ctx, key, &l)).To(Succeed())
			if l.Spec.HolderIdentity == nil {
				return ""
			}
			return *l.Spec.HolderIdentity
		}
	}
	says := func(ctx context.Context, name string) func(Gomega) string {
		return func(g Gomega) string {
			var m v1alpha1.MaaSModelRef
			g.Expect(admin.Get(ctx, types.NamespacedName{Namespace: "llm", Name: name}, &m)).To(Succeed())
			ready := meta.FindStatusCondition(m.Status.Conditions, "Ready")
			if ready == nil {
				return "not evaluated"
			}
			return fmt.Sprintf("%s/%s", m.Status.Phase, ready.Reason)
		}
	}

	uninstall := func(ctx context.Context, crds ...string) {
		GinkgoHelper()
		for _, name := range crds {
			crd := &unstructured.Unstructured{}
			crd.SetGroupVersionKind(facts.CRDMetadata().GroupVersionKind())
			crd.SetName(name)
			Expect(admin.Delete(ctx, crd)).To(Succeed())
			Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }).Should(BeTrue())
		}
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		env, err = testenv.Start(ctx, testenv.Options{Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		scheme, err := newScheme()
		Expect(err).NotTo(HaveOccurred())
		admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		config = DefaultConfig()
		config.Kubeconfig, err = env.OperatorKubeconfig(ctx)
		Expect(err).NotTo(HaveOccurred())
		config.HealthProbeBindAddress, err = testenv.FreeAddress(ctx)
		Expect(err).NotTo(HaveOccurred())
		config.MetricsBindAddress, err = testenv.FreeAddress(ctx)
		Expect(err).NotTo(HaveOccurred())
		config.WebhookBindAddress, err = testenv.FreeAddress(ctx)
		Expect(err).NotTo(HaveOccurred())
		config.WebhookCertDir, err = env.InstallWebhooks(ctx, config.WebhookBindAddress)
		Expect(err).NotTo(HaveOccurred())
		config.LeaderElect = true
		config.LogLevel = "2"
		Expect(config.Validate()).To(Succeed())
		others = []goleak.Option{
			goleak.IgnoreCurrent(),
			// Connections to the API server are kept for whoever asks next.
			goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
			// A watch that is stopped while it delivers an event waits for its reader.
			goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
		}
	})
	AfterAll(func() {
		if stop != nil {
			stop()
		}
		GinkgoWriter.Println(logs.String())
	})

	It("refuses to start without the CRDs of its own kinds, and says so", func(ctx SpecContext) {
		err := run(ctx, config, &logs)
		Expect(err).To(MatchError(ContainSubstring("maas.opendatahub.io")))
	})

	It("starts although nobody else's CRDs are installed", func(ctx SpecContext) {
		Expect(env.InstallCRDs(ctx, testenv.MaaS)).To(Succeed())
		life, end := context.WithCancel(context.WithoutCancel(ctx))
		stop, ended = end, make(chan error, 1)
		go func() { ended <- run(life, config, &logs) }()

		Eventually(probe("/readyz")).Should(Equal(http.StatusOK))
		Expect(probe("/healthz")()).To(Equal(http.StatusOK))
		Eventually(lease(ctx)).ShouldNot(BeEmpty())
		for _, crd := range []string{kserve.Resource, "httproutes.gateway.networking.k8s.io", "authpolicies.kuadrant.io", "tokenratelimitpolicies.kuadrant.io"} {
			Expect(logs.String()).To(ContainSubstring(crd))
		}
		Expect(logs.String()).To(ContainSubstring(`"platform":"kubernetes"`))
	})

	It("shows its metrics to nobody who may not read them", func() {
		Eventually(func() (int, error) { return get("https://" + config.MetricsBindAddress + "/metrics") }).Should(Equal(http.StatusUnauthorized))
	})

	It("shows its webhooks over TLS 1.2 and 1.3 only", func() {
		at := func(version uint16) func() error {
			return func() error {
				connection, err := tls.Dial("tcp", config.WebhookBindAddress, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
				if err != nil {
					return err
				}
				return connection.Close()
			}
		}
		Expect(at(tls.VersionTLS12)()).To(Succeed())
		Expect(at(tls.VersionTLS13)()).To(Succeed())
		Expect(at(tls.VersionTLS11)()).To(MatchError(ContainSubstring("protocol version")))
	})

	It("refuses a subscription where reconcilers would not count it", func(ctx SpecContext) {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gold"}}
		s.Spec.Owner.Users = []string{"alice"}
		s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "granite", Unlimited: true}}
		Eventually(func() error { return admin.Create(ctx, s) }).Should(MatchError(ContainSubstring("not enabled for MaaS tenant resources")))
	})

	It("tells on a model what is missing", func(ctx SpecContext) {
		for _, name := range []string{"llm", config.SubscriptionNamespace, config.GatewayNamespace} {
			Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		}
		m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite"}}
		m.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: "granite"}
		Expect(admin.Create(ctx, m)).To(Succeed())
		Eventually(says(ctx, "granite")).Should(Equal("Failed/DependencyMissing"))
	})

	It("goes on when they appear, without a restart", func(ctx SpecContext) {
		Expect(env.InstallCRDs(ctx, testenv.GatewayAPI, testenv.Kuadrant, testenv.KServe)).To(Succeed())
		Eventually(says(ctx, "granite")).Should(Equal("Failed/BackendNotFound"))

		service := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
		service.SetNamespace("llm")
		service.SetName("granite")
		service.Object["spec"] = map[string]any{"model": map[string]any{"uri": "hf://example/granite"}}
		Expect(admin.Create(ctx, service)).To(Succeed())
		service.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		Expect(admin.Status().Update(ctx, service)).To(Succeed())
		Eventually(says(ctx, "granite")).Should(Equal("Pending/RouteNotFound"))

		parent := gwapiv1.ParentReference{Namespace: new(gwapiv1.Namespace(config.GatewayNamespace)), Name: gwapiv1.ObjectName(config.GatewayName)}
		route := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite", Labels: kserve.RouteLabels("granite")}}
		route.Spec.ParentRefs = []gwapiv1.ParentReference{parent}
		route.Spec.Hostnames = []gwapiv1.Hostname{"maas.example.com"}
		Expect(admin.Create(ctx, route)).To(Succeed())
		route.Status.Parents = []gwapiv1.RouteParentStatus{{
			ParentRef: parent, ControllerName: "istio.io/gateway-controller",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now()}},
		}}
		Expect(admin.Status().Update(ctx, route)).To(Succeed())
		Eventually(says(ctx, "granite")).Should(Equal("Ready/Reconciled"))
	})

	It("is idle once all is as it should be", func() {
		mark := audit.Now()
		Consistently(func(g Gomega) {
			events, err := env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Not(audit.IsEvent()))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(events).To(BeEmpty())
		}, 5*time.Second).Should(Succeed())
	})

	It("writes policies again when their kinds come back, without a restart", func(ctx SpecContext) {
		access := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: config.SubscriptionNamespace, Name: "granite"}}
		access.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: "llm", Name: "granite"}}
		access.Spec.Subjects.Users = []string{"alice"}
		Expect(admin.Create(ctx, access)).To(Succeed())
		policy := func() error {
			return admin.Get(ctx, types.NamespacedName{Namespace: "llm", Name: "maas-auth-granite"}, kuadrant.New(kuadrant.AuthPolicy))
		}
		applied := func(g Gomega) string {
			var m v1alpha1.MaaSModelRef
			g.Expect(admin.Get(ctx, types.NamespacedName{Namespace: "llm", Name: "granite"}, &m)).To(Succeed())
			c := meta.FindStatusCondition(m.Status.Conditions, string(v1alpha1.ConditionPoliciesApplied))
			g.Expect(c).NotTo(BeNil())
			return c.Reason
		}
		Eventually(policy).Should(Succeed())

		uninstall(ctx, kuadrant.AuthPolicyCRD, kuadrant.TokenRateLimitPolicyCRD)
		Eventually(applied).Should(Equal(string(v1alpha1.ReasonDependencyMissing)))
		Expect(env.InstallCRDs(ctx, testenv.Kuadrant)).To(Succeed())
		Eventually(policy).Should(Succeed())
		Eventually(applied).ShouldNot(Equal(string(v1alpha1.ReasonDependencyMissing)))
	})

	It("shows what it did and keeps to those who may read it", func(ctx SpecContext) {
		scrape = newScraper(ctx, env.AdminConfig(), config.MetricsBindAddress)
		Eventually(scrape.value(ctx, `maas_generated_objects{kind="AuthPolicy"}`)).Should(Equal("1"))
		Expect(scrape.samples(ctx)).To(SatisfyAll(
			HaveKeyWithValue(`maas_generated_objects{kind="TokenRateLimitPolicy"}`, "0"),
			HaveKeyWithValue(`maas_gateway_policies{gateway_name="maas-default-gateway",gateway_namespace="openshift-ingress"}`, "1"),
			HaveKeyWithValue("maas_auth_policy_largest_subjects", "1"),
			HaveKeyWithValue(`maas_reconcile_total{controller="modelpolicy",kind="MaaSModelRef",outcome="success"}`, Not(Equal("0"))),
			HaveKeyWithValue(`maas_apply_total{kind="AuthPolicy",operation="apply",outcome="created"}`, "2"),
			HaveKeyWithValue(`maas_drift_repairs_total{kind="AuthPolicy"}`, "1"), // It went with its kind.
			Not(HaveKey(`maas_enforcement_delay_seconds_count{kind="MaaSAuthPolicy"}`)),
		))
	})

	It("measures the time until a change is enforced, and counts refused entries while they last", func(ctx SpecContext) {
		policy := kuadrant.New(kuadrant.AuthPolicy)
		Expect(admin.Get(ctx, types.NamespacedName{Namespace: "llm", Name: "maas-auth-granite"}, policy)).To(Succeed())
		accept(policy)
		Expect(admin.Status().Update(ctx, policy)).To(Succeed())
		Eventually(scrape.value(ctx, `maas_enforcement_delay_seconds_count{kind="MaaSAuthPolicy"}`)).Should(Equal("1"))

		refused := `maas_refused_entries{kind="MaaSSubscription",reason="NotFound"}`
		gold := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: config.SubscriptionNamespace, Name: "gold"}}
		gold.Spec.Owner.Users = []string{"alice"}
		gold.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "missing", Unlimited: true}}
		Expect(admin.Create(ctx, gold)).To(Succeed())
		Eventually(scrape.value(ctx, refused)).Should(Equal("1"))
		Expect(admin.Delete(ctx, gold)).To(Succeed())
		Eventually(scrape.value(ctx, refused)).Should(BeEmpty())

		access := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: config.SubscriptionNamespace, Name: "granite"}}
		Expect(admin.Delete(ctx, access)).To(Succeed())
		Eventually(scrape.value(ctx, `maas_generated_objects{kind="AuthPolicy"}`)).Should(Equal("0"))
	})

	It("tells on a model that the kind of its backend went and came back", func(ctx SpecContext) {
		uninstall(ctx, kserve.Resource)
		Eventually(says(ctx, "granite")).Should(Equal("Failed/DependencyMissing"))
		Expect(env.InstallCRDs(ctx, testenv.KServe)).To(Succeed())
		Eventually(says(ctx, "granite")).Should(Equal("Failed/BackendNotFound"))
	})

	It("was never refused anything", func() {
		events, err := env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden())
		Expect(err).NotTo(HaveOccurred())
		Expect(events).To(BeEmpty())
	})

	It("ends when told to and gives the lease back", func(ctx SpecContext) {
		stop()
		Eventually(ended).Should(Receive(Succeed()))
		Eventually(lease(ctx)).Should(BeEmpty())
	})

	It("leaves no goroutine behind", func() {
		Expect(goleak.Find(others...)).To(Succeed())
	})
})
