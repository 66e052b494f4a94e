// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var byOperator = audit.ByUser(testenv.OperatorUser)

// world is a tenant that no other spec has. The context outlives the node that made
// it, so that a container may use it.
type world struct {
	ctx context.Context
	// name is the AITenant's, and that of its Gateway unless said otherwise.
	name string
	// namespace is the tenant's.
	namespace string
}

func newWorld(ctx context.Context, name string) world {
	return world{ctx: context.WithoutCancel(ctx), name: name, namespace: "ai-tenant-" + name}
}

func (w world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: aitenantNamespace, Name: w.name}
}

func (w world) configKey() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: v1alpha1.DefaultTenantConfigName}
}

// gateway creates a Gateway whose listener admits routes as told; the default is from
// all namespaces.
func (w world) gateway(name string, selectors ...map[string]string) *gwapiv1.Gateway {
	GinkgoHelper()
	g := &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: name}}
	g.Spec.GatewayClassName = "istio"
	listener := gwapiv1.Listener{Port: 80, Protocol: gwapiv1.HTTPProtocolType}
	if len(selectors) == 0 {
		listener.Name = "http"
		g.Spec.Listeners = append(g.Spec.Listeners, listener)
	}
	for i, selector := range selectors {
		listener.Name, listener.Port = gwapiv1.SectionName(fmt.Sprintf("http-%d", i)), gwapiv1.PortNumber(8000+i)
		listener.AllowedRoutes = &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{
			From: new(gwapiv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{MatchLabels: selector},
		}}
		g.Spec.Listeners = append(g.Spec.Listeners, listener)
	}
	Expect(suite.Admin.Create(w.ctx, g)).To(Succeed())
	return g
}

// create creates the AITenant.
func (w world) create(change ...func(*v1alpha1.AITenant)) *v1alpha1.AITenant {
	GinkgoHelper()
	t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: w.name}}
	for _, c := range change {
		c(t)
	}
	Expect(suite.Admin.Create(w.ctx, t)).To(Succeed())
	return t
}

func at(gateway string) func(*v1alpha1.AITenant) {
	return func(t *v1alpha1.AITenant) { t.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: gateway} }
}

// edit changes the spec of the AITenant.
func (w world) edit(change func(*v1alpha1.AITenant)) {
	GinkgoHelper()
	t := w.tenant(Default)
	before := t.DeepCopy()
	change(t)
	Expect(suite.Admin.Patch(w.ctx, t, client.MergeFrom(before))).To(Succeed())
}

func (w world) tenant(g Gomega) *v1alpha1.AITenant {
	t := &v1alpha1.AITenant{}
	g.Expect(suite.Admin.Get(w.ctx, w.key(), t)).To(Succeed())
	return t
}

// says is "<phase>/<status of Ready>/<reason of Ready>" for the newest generation.
func (w world) says(g Gomega) string {
	t := w.tenant(g)
	ready := meta.FindStatusCondition(t.Status.Conditions, string(v1alpha1.ConditionReady))
	if ready == nil || ready.ObservedGeneration != t.Generation || t.Status.ObservedGeneration != t.Generation {
		return "not evaluated"
	}
	return fmt.Sprintf("%s/%s/%s", t.Status.Phase, ready.Status, ready.Reason)
}

// condition is a condition of the AITenant; the zero value when there is none.
func (w world) condition(conditionType v1alpha1.ConditionType) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		if c := meta.FindStatusCondition(w.tenant(g).Status.Conditions, string(conditionType)); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

// message is the message of Ready.
func (w world) message(g Gomega) string { return w.condition(v1alpha1.ConditionReady)(g).Message }

func (w world) config(g Gomega) *v1alpha1.MaasTenantConfig {
	c := &v1alpha1.MaasTenantConfig{}
	g.Expect(suite.Admin.Get(w.ctx, w.configKey(), c)).To(Succeed())
	return c
}

// configSays plays the controller of MaasTenantConfigs: it sets Ready for a generation.
func (w world) configSays(status metav1.ConditionStatus, generation int64) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		c := w.config(g)
		before := c.DeepCopy()
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: status, Reason: "Played", ObservedGeneration: generation,
		})
		g.Expect(suite.Admin.Status().Patch(w.ctx, c, client.MergeFrom(before))).To(Succeed())
	}).Should(Succeed())
}

// configReady says that everything runs.
func (w world) configReady() {
	GinkgoHelper()
	var generation int64
	Eventually(func(g Gomega) { generation = w.config(g).Generation }).Should(Succeed())
	w.configSays(metav1.ConditionTrue, generation)
}

const active = "Active/True/Reconciled"

// up sets a tenant up with a Gateway of its own.
func (w world) up(change ...func(*v1alpha1.AITenant)) *v1alpha1.AITenant {
	GinkgoHelper()
	w.gateway(w.name)
	t := w.create(change...)
	w.configReady()
	Eventually(w.says).Should(Equal(active))
	return t
}

func (w world) namespaceObject(g Gomega, name string) *corev1.Namespace {
	ns := &corev1.Namespace{}
	g.Expect(suite.Admin.Get(w.ctx, types.NamespacedName{Name: name}, ns)).To(Succeed())
	return ns
}

// claim is the claim on a Gateway; nil when nobody has it.
func (w world) claim(gateway string) func(Gomega) *corev1.ConfigMap {
	return func(g Gomega) *corev1.ConfigMap {
		c := &corev1.ConfigMap{}
		err := suite.Admin.Get(w.ctx, types.NamespacedName{Namespace: aitenantNamespace, Name: tenancy.GatewayClaim(gatewayNamespace, gateway)}, c)
		if apierrors.IsNotFound(err) {
			return nil
		}
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
}

// events are the events about the AITenant, each with its type.
func (w world) events(g Gomega) []string {
	var list eventsv1.EventList
	g.Expect(suite.Admin.List(w.ctx, &list, client.InNamespace(aitenantNamespace))).To(Succeed())
	var reasons []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Kind == v1alpha1.KindAITenant && e.Regarding.Name == w.name {
			reasons = append(reasons, e.Type+" "+e.Reason)
		}
	}
	return reasons
}
