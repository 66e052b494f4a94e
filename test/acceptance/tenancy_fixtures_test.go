// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// tenant is one beside the default tenant, with a gateway of its own. No
// controller sets it up here: the specs do, step by step where that matters.
type tenant struct {
	builder.Tenant
	w         world
	host      string
	registry  *v1alpha1.AITenant
	namespace *corev1.Namespace
	config    *v1alpha1.MaasTenantConfig
}

// announce creates the AITenant and its gateway: the tenant is not set up yet.
func (w world) announce(color string) *tenant {
	GinkgoHelper()
	name := color + "-" + strings.TrimPrefix(w.namespace, "llm-")
	t := &tenant{w: w, host: name + ".example.com", Tenant: builder.Tenant{
		Name: name, Registry: stage.AITenantNamespace, Gateway: builder.Key(stage.GatewayNamespace, name),
	}}
	t.registry = t.AITenant()
	t.namespace, t.config = t.Owned()
	w.create(builder.Gateway(t.Gateway, t.host), t.registry)
	return t
}

// tenant creates a tenant that is set up.
func (w world) tenant(color string) *tenant {
	GinkgoHelper()
	t := w.announce(color)
	t.settle()
	w.create(t.namespace, t.config)
	return t
}

// settle says in the AITenant's status which gateway is the tenant's.
func (t *tenant) settle() {
	GinkgoHelper()
	Eventually(func() error {
		reload(t.w, t.registry).Status = t.Status()
		return on.Admin.Status().Update(t.w.ctx, t.registry)
	}).Should(Succeed())
}

// route is one of a model server at the tenant's gateway.
func (t *tenant) route(name string) *builder.RouteBuilder {
	return t.w.modelRoute(name).Below(t.Gateway).Hostnames(t.host)
}

// pair creates both halves of a model's governance in a namespace.
func (t *tenant) pair(namespace string, model *v1alpha1.MaaSModelRef) (*v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription) {
	GinkgoHelper()
	key := builder.Key(model.Namespace, model.Name)
	policy := builder.AuthPolicy(namespace, t.w.own("everyone"), key).Obj()
	paid := builder.Subscription(namespace, t.w.own("gold")).Limit(key, 7, "1m").Obj()
	t.w.create(policy, paid)
	return policy, paid
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
