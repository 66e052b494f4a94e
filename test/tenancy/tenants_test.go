// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// The caller has the same name and group in every tenant: nothing about her tells
// tenants apart.
const (
	caller = "alice"
	group  = "staff"
)

// tenant is a tenant of the suite.
type tenant struct {
	// name is that of the AITenant.
	name string
	// gateway is the name of the tenant's Gateway, host its listener's.
	gateway, host string
	// quota is what the caller may use of the tenant's model in a minute.
	quota int64
}

// theDefault is the tenant that the operator makes by itself, red and long stand
// beside it for as long as the suite runs.
var (
	theDefault = tenant{name: stage.TenantNamespace, gateway: stage.GatewayName, host: stage.Hostname, quota: 100}
	red        = tenant{name: "red", gateway: "red", host: "red.example.com", quota: 200}
	// long has a name as long as names may be, and a Gateway of another name.
	long = tenant{name: "the-tenant-with-the-longest-name-there-is", gateway: "blue-gateway", host: "blue.example.com", quota: 300}
)

// lasting are the tenants that no spec deletes for good.
func lasting() []tenant { return []tenant{theDefault, red, long} }

func (t tenant) isDefault() bool { return t.name == theDefault.name }

// names are those of what runs for the tenant.
func (t tenant) names() tenancy.Context {
	if t.isDefault() {
		return tenancy.Context{Name: t.name}
	}
	return tenancy.Context{Name: t.name, ID: t.name}
}

// namespace is where the tenant's auth policies and subscriptions live.
func (t tenant) namespace() string {
	if t.isDefault() {
		return t.name
	}
	return "ai-tenant-" + t.name
}

func (t tenant) gatewayKey() types.NamespacedName {
	return builder.Key(stage.GatewayNamespace, t.gateway)
}

// issuer and clientID are the tenant's own OIDC settings.
func (t tenant) issuer() string   { return "https://idp.example.com/realms/" + t.name }
func (t tenant) clientID() string { return "client-of-" + t.name }

// token is the caller's at the tenant's gateway, and at no other.
func (t tenant) token() string { return "token-for-" + t.name }

// object is the tenant's AITenant.
func (t tenant) object() *v1alpha1.AITenant {
	o := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: t.name}}
	o.Spec.OIDC = t.oidc()
	if t.gateway != t.name {
		o.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: t.gateway}
	}
	return o
}

func (t tenant) oidc() *v1alpha1.TenantExternalOIDCConfig {
	return &v1alpha1.TenantExternalOIDCConfig{IssuerURL: t.issuer(), ClientID: t.clientID()}
}

// present makes the tenant with its Gateway unless it is there, and returns when
// everything of it works.
func (t tenant) present(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreAlreadyExists(on.Admin.Create(ctx, builder.Gateway(t.gatewayKey(), t.host)))).To(Succeed())
	Expect(client.IgnoreAlreadyExists(on.Admin.Create(ctx, t.object()))).To(Succeed())
	t.await(ctx)
}

// await waits until the tenant works.
func (t tenant) await(ctx context.Context) {
	GinkgoHelper()
	Eventually(t.state(ctx)).Should(Equal("Active Reconciled"), t.name)
}

// state sums the tenant up as "<phase> <reason of Ready>" once its spec is judged.
func (t tenant) state(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		o := t.object()
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(o.Status.Conditions, string(v1alpha1.ConditionReady))
		if ready == nil || ready.ObservedGeneration != o.Generation {
			return "not judged yet", nil
		}
		return fmt.Sprintf("%s %s", o.Status.Phase, ready.Reason), nil
	}
}

// says is the message of the condition Ready.
func (t tenant) says(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		o := t.object()
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
		if c := meta.FindStatusCondition(o.Status.Conditions, string(v1alpha1.ConditionReady)); c != nil {
			return c.Message, err
		}
		return "", err
	}
}

// deployment names the tenant's maas-api, and template is that of its Pods.
func (t tenant) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: t.names().MaaSAPI()}}
}

func (t tenant) template(ctx context.Context) corev1.PodTemplateSpec {
	GinkgoHelper()
	return get(ctx, infra, t.names().MaaSAPI(), &appsv1.Deployment{}).Spec.Template
}

// direct is a client of the tenant's maas-api that goes past the gateway.
func (t tenant) direct(ctx context.Context) service.Client {
	GinkgoHelper()
	return clientOf(must(t.address(ctx)))
}

// address is where the tenant's Service is here.
func (t tenant) address(ctx context.Context) (string, error) {
	return on.Workload.Service(ctx, workload.ServicePort{Namespace: infra, Name: t.names().MaaSAPI(), Port: installation.MaaSAPIPort})
}

// clientOf verifies certificates as pods do.
func clientOf(address string) service.Client {
	GinkgoHelper()
	return service.NewClient("https://"+address, &http.Transport{
		DisableKeepAlives: true, // Another Pod may answer next.
		TLSClientConfig:   &tls.Config{RootCAs: authority(), MinVersion: tls.VersionTLS12},
	})
}

func authority() *x509.CertPool {
	GinkgoHelper()
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(must(os.ReadFile(must(on.Env.ServerAuthority()))))).To(BeTrue())
	return pool
}

// model is the name of the tenant's model and of the server behind it.
func (t tenant) model() types.NamespacedName {
	return builder.Key(stage.ModelNamespace, "model-of-"+t.gateway)
}

// subscription is the name of the caller's.
func (t tenant) subscription() string { return "paid-by-" + t.gateway }

// furnish gives the tenant a model that the caller may use, and returns when she can.
func (t tenant) furnish(ctx context.Context) {
	GinkgoHelper()
	model := t.model()
	route := builder.Route(model.Namespace, model.Name, stage.GatewayNamespace, t.gateway).Hostnames(t.host).Path(t.path()).Obj()
	port := gwapiv1.PortNumber(modelPort)
	route.Spec.Rules[0].BackendRefs = []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{
		BackendObjectReference: gwapiv1.BackendObjectReference{Name: modelService, Port: &port},
	}}}
	create(ctx, route, builder.ModelServer(model.Namespace, model.Name),
		builder.ModelRef(model.Namespace, model.Name).Tenant(t.name).Obj())
	t.entitle(ctx)
}

// path is where the tenant's gateway serves its model.
func (t tenant) path() string { return "/" + t.model().String() }

// entitle lets the caller use the tenant's model, and returns when she can.
func (t tenant) entitle(ctx context.Context) {
	GinkgoHelper()
	create(ctx,
		builder.AuthPolicy(t.namespace(), "staff", t.model()).Subjects([]string{group}, nil).Obj(),
		builder.Subscription(t.namespace(), t.subscription()).Owners([]string{group}, nil).Limit(t.model(), t.quota, "1m").Obj())
	Eventually(func() (bool, error) {
		s, err := t.direct(ctx).Select(ctx, service.SelectRequest{Username: caller, Groups: []string{group}, Model: t.model().String()})
		return s.AccessAllowed, err
	}).Should(BeTrue(), "access to %s", t.model())
}

// newKey is a key that the caller makes at the tenant's gateway.
func (t tenant) newKey(ctx context.Context, name string) service.CreatedKey {
	GinkgoHelper()
	return must(t.visitor().Bearer(t.token()).Create(ctx, service.CreateKey{Name: name, Subscription: t.subscription()}))
}

// valid tells whether the tenant's maas-api takes a key.
func (t tenant) valid(ctx context.Context, key string) func() (bool, error) {
	return func() (bool, error) {
		verdict, err := t.direct(ctx).Validate(ctx, key)
		return verdict.Valid, err
	}
}

// programsSay are the last words of everything that runs for tenants.
func programsSay() string {
	const most = 4000
	var out strings.Builder
	for _, c := range on.Workload.Containers(infra) {
		text, _ := os.ReadFile(c.Log) // It may be gone with its Pod.
		if len(text) > most {
			text = text[len(text)-most:]
		}
		fmt.Fprintf(&out, "--- %s %s %v\n%s\n", c.Pod.Name, c.Name, c.Args, text)
	}
	text, _ := os.ReadFile(on.Operator.LogFile())
	if len(text) > most {
		text = text[len(text)-most:]
	}
	fmt.Fprintf(&out, "--- %s\n%s\n", testenv.OperatorUser, text)
	return out.String()
}

// logOf is what the containers of Pods said whose names begin so.
func logOf(prefix string) string {
	var out strings.Builder
	for _, c := range on.Workload.Containers(infra) {
		if strings.HasPrefix(c.Pod.Name, prefix) {
			text, _ := os.ReadFile(c.Log) // It may be gone with its Pod.
			out.Write(text)
		}
	}
	return out.String()
}
