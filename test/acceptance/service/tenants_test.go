// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const tenantsPath = "/v1/tenants"

// accountToken is a token of a new ServiceAccount, which has no rights but those
// that every user of the cluster has.
func accountToken(ctx SpecContext) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: service.ModelNamespace, Name: unique("dashboard")}}
	publish(ctx, account)
	request := &authenticationv1.TokenRequest{}
	Expect(on.Admin.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// listener is one of a Gateway, and whether its status says that routes are there.
type listener struct {
	protocol gwapiv1.ProtocolType
	port     gwapiv1.PortNumber
	host     string
	attached int32
}

// setGateway makes the tenant's Gateway anew.
func setGateway(ctx SpecContext, address string, listeners ...listener) {
	GinkgoHelper()
	g := builder.Gateway(builder.Key(service.GatewayNamespace, service.GatewayName), "x.example.com")
	template := g.Spec.Listeners[0]
	g.Spec.Listeners = nil
	for i, l := range listeners {
		made := *template.DeepCopy()
		made.Name, made.Protocol, made.Port, made.Hostname = gwapiv1.SectionName(string(rune('a'+i))), l.protocol, l.port, nil
		if l.host != "" {
			made.Hostname = new(gwapiv1.Hostname(l.host))
		}
		if l.protocol != gwapiv1.HTTPSProtocolType && l.protocol != gwapiv1.TLSProtocolType {
			made.TLS = nil
		}
		if l.protocol == gwapiv1.TCPProtocolType {
			made.Hostname = nil
		}
		g.Spec.Listeners = append(g.Spec.Listeners, made)
		g.Status.Listeners = append(g.Status.Listeners, gwapiv1.ListenerStatus{
			Name: made.Name, AttachedRoutes: l.attached, SupportedKinds: []gwapiv1.RouteGroupKind{}, Conditions: []metav1.Condition{},
		})
	}
	if address != "" {
		g.Status.Addresses = []gwapiv1.GatewayStatusAddress{{Type: new(gwapiv1.HostnameAddressType), Value: address}}
	}
	status := g.Status
	Expect(client.IgnoreNotFound(on.Admin.Delete(ctx, g.DeepCopy()))).To(Succeed())
	Expect(on.Admin.Create(ctx, g)).To(Succeed())
	g.Status = status
	Expect(on.Admin.Status().Update(ctx, g)).To(Succeed())
}

// These specs change the one Gateway of the tenant.
var _ = Describe("The list of tenants", Ordered, func() {
	const good, plain, tlsPort = gwapiv1.HTTPSProtocolType, gwapiv1.HTTPProtocolType, 443
	var dashboard service.Client

	BeforeAll(func(ctx SpecContext) { dashboard = api.Client().Bearer(accountToken(ctx)) })
	AfterAll(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(on.Admin.Delete(ctx, builder.Gateway(builder.Key(service.GatewayNamespace, service.GatewayName), "x")))).To(Succeed())
	})

	DescribeTable("asks for a token itself (E-127)", func(ctx SpecContext, header, want string) {
		c := api.Client()
		if header != "" {
			c = c.With("Authorization", header)
		}
		Expect(get(ctx, c, tenantsPath)).To(exactly(http.StatusUnauthorized, want))
	},
		Entry("none", "", `{"error":"Authentication required","details":"Missing or invalid bearer token"}`),
		Entry("another scheme", "Basic eDp5", `{"error":"Authentication required","details":"Missing or invalid bearer token"}`),
		Entry("nothing after the scheme", "Bearer ", `{"error":"Authentication required","details":"Missing or invalid bearer token"}`),
		Entry("nobody's (E-147)", "Bearer not-a-token", `{"error":"Authentication failed","details":"Invalid token"}`),
	)

	It("sends no API key to the API server (fixed)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		mark := audit.Now()
		Expect(get(ctx, api.Client().Bearer(key.Key), tenantsPath)).To(answer(http.StatusUnauthorized, "Invalid token"))
		Expect(tokenReviews(mark)).To(BeEmpty())
	})

	It("is for users of the cluster only (E-127, E-147)", func(ctx SpecContext) {
		// Everybody whose token is valid may ask for their own rights, unless that was
		// taken away.
		basic := &rbacv1.ClusterRoleBinding{}
		Expect(on.Admin.Get(ctx, client.ObjectKey{Name: "system:basic-user"}, basic)).To(Succeed())
		subjects := basic.Subjects
		setSubjects := func(ctx SpecContext, subjects []rbacv1.Subject) {
			Expect(on.Admin.Get(ctx, client.ObjectKey{Name: "system:basic-user"}, basic)).To(Succeed())
			basic.Subjects = subjects
			Expect(on.Admin.Update(ctx, basic)).To(Succeed())
		}
		DeferCleanup(func(ctx SpecContext) { setSubjects(ctx, subjects) })
		setSubjects(ctx, nil)
		Eventually(func() service.Response { return get(ctx, dashboard, tenantsPath) }).
			Should(exactly(http.StatusForbidden, `{"error":"Insufficient permissions","details":"User is not authorized to access cluster resources"}`))
		setSubjects(ctx, subjects)
		Eventually(func() int { return get(ctx, dashboard, tenantsPath).Status }).ShouldNot(Equal(http.StatusForbidden))
	})

	It("says when there is no Gateway", func(ctx SpecContext) {
		Expect(get(ctx, dashboard, tenantsPath)).To(exactly(http.StatusNotFound,
			`{"error":"Gateway not found","details":"Gateway maas-default-gateway not found in namespace openshift-ingress"}`))
	})

	DescribeTable("tells where clients reach the gateway (E-124, E-125, E-126)", func(ctx SpecContext, address, protocol, url string, port int, listeners ...listener) {
		setGateway(ctx, address, listeners...)
		Expect(get(ctx, dashboard, tenantsPath)).To(And(HaveField("Status", http.StatusOK), HaveField("Body", MatchJSON(object{"tenants": []object{{
			"name": service.Tenant, "gateway": object{
				"name": service.GatewayName, "namespace": service.GatewayNamespace, "protocol": protocol, "externalUrl": url, "port": port,
			},
		}}}.json()))))
	},
		Entry("https on its usual port", "", "https", "https://a.example.com", 443, listener{good, tlsPort, "a.example.com", 1}),
		Entry("https on another port", "", "https", "https://a.example.com:8443", 8443, listener{good, 8443, "a.example.com", 1}),
		Entry("http", "", "http", "http://a.example.com", 80, listener{plain, 80, "a.example.com", 1}),
		Entry("https before http, whatever comes first", "", "https", "https://b.example.com", 443,
			listener{plain, 80, "a.example.com", 1}, listener{good, tlsPort, "b.example.com", 1}),
		Entry("http when nothing is attached to https", "", "http", "http://a.example.com", 80,
			listener{plain, 80, "a.example.com", 1}, listener{good, tlsPort, "b.example.com", 0}),
		Entry("TLS is as good, TCP is nothing", "", "https", "https://b.example.com", 443,
			listener{gwapiv1.TCPProtocolType, 9000, "", 1}, listener{gwapiv1.TLSProtocolType, tlsPort, "b.example.com", 1}),
		Entry("by its address when the listener has no host", "lb.example.com", "https", "https://lb.example.com", 443, listener{good, tlsPort, "", 1}),
	)

	DescribeTable("says that there is no address yet (E-125, A68 fixed: 500)", func(ctx SpecContext, address string, listeners ...listener) {
		setGateway(ctx, address, listeners...)
		Expect(get(ctx, dashboard, tenantsPath)).To(answer(http.StatusServiceUnavailable, "Failed to resolve gateway", "no host that clients can use"))
	},
		Entry("no host and no address", "", listener{good, tlsPort, "", 1}),
		Entry("an address inside the cluster", "gw.ns.svc.cluster.local", listener{good, tlsPort, "", 1}),
	)
})
