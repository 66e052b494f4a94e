// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const usageProxyName = "usage-logs-tenancy-proxy"

// logStore stands in for the one that the proxy asks. Like the gateway of a real one it
// asks the API server who calls, and whether that one may read the logs of a namespace.
type logStore struct {
	namespace string
	server    *httptest.Server

	mu    sync.Mutex
	asked []*http.Request
}

func startLogStore(namespace string) *logStore {
	GinkgoHelper()
	issued, err := shared.IssueCertificate("log-store", "usage-gateway-http."+namespace+".svc", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.LoadX509KeyPair(issued.CertFile, issued.KeyFile)
	Expect(err).NotTo(HaveOccurred())
	s := &logStore{namespace: namespace}
	s.server = httptest.NewUnstartedServer(s)
	s.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	s.server.StartTLS()
	DeferCleanup(s.server.Close)
	return s
}

func (s *logStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Clone(context.WithoutCancel(r.Context())))
	s.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := admin.Create(r.Context(), review); err != nil || !review.Status.Authenticated {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: review.Status.User.Username, Groups: review.Status.User.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.namespace, Verb: "get", Group: "loki.grafana.com", Resource: "application", Name: "logs"},
	}}
	if err := admin.Create(r.Context(), access); err != nil || !access.Status.Allowed {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"streams","result":[]}}`)
}

// last is the latest request.
func (s *logStore) last() *http.Request {
	GinkgoHelper()
	s.mu.Lock()
	defer s.mu.Unlock()
	Expect(s.asked).NotTo(BeEmpty())
	return s.asked[len(s.asked)-1]
}

func (s *logStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// applyUsage creates what usage logging consists of on OpenShift, as rendered, but for the
// objects whose kinds this cluster does not serve. The Deployment runs here. It returns
// what is in no namespace, and does not go with one.
func applyUsage(ctx context.Context, namespace string, store *logStore) (global []client.Object) {
	GinkgoHelper()
	requests, err := usage.Build(usage.Input{Platform: platform.OpenShift, GatewayNamespace: "openshift-ingress", MonitoringNamespace: namespace})
	Expect(err).NotTo(HaveOccurred())
	objects, err := parts.Engine(GinkgoTB()).RenderAll(requests)
	Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		switch o.GetKind() {
		case "OpenTelemetryCollector", "PersesDashboard", "PersesDatasource":
			continue
		case "Deployment":
			create(ctx, runnable(o, namespace, store))
		default:
			create(ctx, o)
		}
		if o.GetNamespace() == "" {
			global = append(global, o)
		}
	}
	return global
}

// runnable is the Deployment with an image that there is, led to the stand-in, and told
// where its token is although that is the default: the file is elsewhere here.
func runnable(o *unstructured.Unstructured, namespace string, store *logStore) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d)).To(Succeed())
	d.Spec.Template.Labels[testenv.RunLabel] = testenv.RunLabelValue
	c := &d.Spec.Template.Spec.Containers[0]
	c.Image = imageMaaSAPI
	i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--upstream-url=") })
	Expect(c.Args[i]).To(ContainSubstring("//usage-gateway-http." + namespace + ".svc:8080/"))
	c.Args[i] = strings.Replace(c.Args[i], "usage-gateway-http."+namespace+".svc:8080", store.server.Listener.Addr().String(), 1)
	c.Args = append(c.Args, "--token-file=/var/run/secrets/kubernetes.io/serviceaccount/token")
	return d
}

var _ = Describe("The proxy of usage logs, as rendered", Ordered, func() {
	var (
		ns     string
		store  *logStore
		caller *http.Client
		base   string
		token  string
	)
	account := func() testenv.Account { return testenv.Account{Namespace: ns, Name: "usage-tenancy-proxy"} }

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		store = startLogStore(ns)
		create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ann"}})
		request := &authenticationv1.TokenRequest{}
		Expect(admin.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ann"}}, request)).To(Succeed())
		token = request.Status.Token
		global := applyUsage(ctx, ns, store)
		DeferCleanup(func(ctx SpecContext) {
			for _, o := range global {
				Expect(client.IgnoreNotFound(admin.Delete(ctx, o))).To(Succeed())
			}
		})

		file, err := shared.ServerAuthority()
		Expect(err).NotTo(HaveOccurred())
		authority, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		pool := x509.NewCertPool()
		Expect(pool.AppendCertsFromPEM(authority)).To(BeTrue())
		transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: usageProxyName + "." + ns + ".svc"}}
		DeferCleanup(transport.CloseIdleConnections)
		caller = &http.Client{Transport: transport}
		address, err := runner.Service(ctx, workload.ServicePort{Namespace: ns, Name: usageProxyName, Port: 8443})
		Expect(err).NotTo(HaveOccurred())
		base = "https://" + address
	})

	// get asks the proxy.
	get := func(ctx context.Context, path string, parameters url.Values, bearer string) (int, map[string]any) {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path+"?"+parameters.Encode(), http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		response, err := caller.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(response.Body.Close()).To(Succeed()) }()
		var body map[string]any
		Expect(json.NewDecoder(response.Body).Decode(&body)).To(Succeed())
		return response.StatusCode, body
	}

	It("becomes available under the rights of its ServiceAccount", func(ctx SpecContext) {
		Eventually(func() (int32, error) {
			d := &appsv1.Deployment{}
			err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: usageProxyName}, d)
			return d.Status.AvailableReplicas, err
		}).Should(BeEquivalentTo(1))
	})

	It("asks the log store for the caller's own records only, with a token that may read them", func(ctx SpecContext) {
		code, body := get(ctx, "/loki/api/v1/query_range", url.Values{"query": {`{service_name="models-as-a-service"} | json`}, "since": {"1h"}}, token)
		Expect(code).To(Equal(http.StatusOK), "%v", body)
		Expect(body).To(HaveKeyWithValue("status", "success"))
		asked := store.last()
		Expect(asked.URL.Path).To(Equal("/api/logs/v1/application/loki/api/v1/query_range"))
		Expect(asked.URL.Query().Get("query")).To(Equal(
			`{kubernetes_namespace_name="` + ns + `", service_name="models-as-a-service"} | user_id="system:serviceaccount:` + ns + `:ann" | json`))
		Expect(asked.Header.Get("Authorization")).NotTo(ContainSubstring(token))
	})

	It("asks nothing for somebody who has no token, or a wrong one", func(ctx SpecContext) {
		before := store.count()
		for _, bearer := range []string{"", "wrong"} {
			code, _ := get(ctx, "/loki/api/v1/query", url.Values{"query": {`{a="b"}`}}, bearer)
			Expect(code).To(Equal(http.StatusUnauthorized))
		}
		Expect(store.count()).To(Equal(before))
	})

	It("was forbidden nothing by the API server", func() {
		used, err := shared.Audit().Events(audit.ByUser(account().User()))
		Expect(err).NotTo(HaveOccurred())
		Expect(used).NotTo(BeEmpty())
		refused, err := shared.Audit().Events(audit.ByUser(account().User()), audit.Forbidden())
		Expect(err).NotTo(HaveOccurred())
		Expect(refused).To(BeEmpty())
	})
})
