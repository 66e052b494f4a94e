// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// prepareCluster creates what exists before any model: the default tenant's
// namespace and two gateways, of which the first is the tenant's.
func prepareCluster(ctx context.Context) {
	GinkgoHelper()
	suite.CreateNamespaces(ctx, tenantNamespace, aitenantNamespace, gatewayNamespace)
	for name, hostname := range map[string]gwapiv1.Hostname{gatewayName: host, otherGatewayName: otherHost} {
		Expect(suite.Admin.Create(ctx, &gwapiv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: name},
			Spec: gwapiv1.GatewaySpec{
				GatewayClassName: "istio",
				Listeners: []gwapiv1.Listener{{
					Name: "https", Port: 443, Protocol: gwapiv1.HTTPSProtocolType, Hostname: &hostname,
					TLS: &gwapiv1.ListenerTLSConfig{CertificateRefs: []gwapiv1.SecretObjectReference{{Name: "tls"}}},
				}},
			},
		})).To(Succeed())
	}
}

// world is one namespace with models in it. The context outlives the node that
// made it, so that a container may use it.
type world struct {
	ctx       context.Context
	namespace string
}

func newWorld(ctx context.Context) world {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, suite.Admin, "llm")
	Expect(err).NotTo(HaveOccurred())
	return world{ctx: context.WithoutCancel(ctx), namespace: namespace}
}

func (w world) in(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// publish creates a MaaSModelRef of the same name as its backend.
func (w world) publish(name string, change ...func(*v1alpha1.MaaSModelRef)) {
	GinkgoHelper()
	m := &v1alpha1.MaaSModelRef{ObjectMeta: w.in(name)}
	m.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: name}
	for _, c := range change {
		c(m)
	}
	Expect(suite.Admin.Create(w.ctx, m)).To(Succeed())
}

// edit changes the spec of a model.
func (w world) edit(name string, change func(*v1alpha1.MaaSModelRef)) {
	GinkgoHelper()
	m := &v1alpha1.MaaSModelRef{}
	Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
	before := m.DeepCopy()
	change(m)
	Expect(suite.Admin.Patch(w.ctx, m, client.MergeFrom(before))).To(Succeed())
}

func (w world) model(g Gomega, name string) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{}
	g.Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
	return m
}

// says is "<phase>/<reason of Ready>" of a model, which sums its status up.
func (w world) says(name string) func(Gomega) string {
	return func(g Gomega) string {
		m := w.model(g, name)
		ready := meta.FindStatusCondition(m.Status.Conditions, "Ready")
		if ready == nil || ready.ObservedGeneration != m.Generation {
			return "not evaluated"
		}
		return fmt.Sprintf("%s/%s", m.Status.Phase, ready.Reason)
	}
}

// condition is "<status>/<reason>" of a condition.
func (w world) condition(name, conditionType string) func(Gomega) string {
	return func(g Gomega) string {
		c := meta.FindStatusCondition(w.model(g, name).Status.Conditions, conditionType)
		if c == nil {
			return "none"
		}
		return fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
}

// message is the text of a condition.
func (w world) message(name, conditionType string) func(Gomega) string {
	return func(g Gomega) string {
		c := meta.FindStatusCondition(w.model(g, name).Status.Conditions, conditionType)
		if c == nil {
			return ""
		}
		return c.Message
	}
}

func (w world) endpoint(name string) func(Gomega) string {
	return func(g Gomega) string { return w.model(g, name).Status.Endpoint }
}

// serve creates an LLMInferenceService with a status.
func (w world) serve(name string, status map[string]any, refs ...string) {
	GinkgoHelper()
	u := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
	u.SetNamespace(w.namespace)
	u.SetName(name)
	spec := map[string]any{"model": map[string]any{"uri": "hf://example/" + name, "name": name}}
	var names []any
	for _, ref := range refs {
		names = append(names, map[string]any{"name": ref})
	}
	if len(names) > 0 {
		spec["router"] = map[string]any{"route": map[string]any{"http": map[string]any{"refs": names}}}
	}
	u.Object["spec"] = spec
	Expect(suite.Admin.Create(w.ctx, u)).To(Succeed())
	w.kserveSays(name, status)
}

// kserveSays replaces the status of an LLMInferenceService.
func (w world) kserveSays(name string, status map[string]any) {
	GinkgoHelper()
	u := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
	Expect(suite.Admin.Get(w.ctx, w.key(name), u)).To(Succeed())
	u.Object["status"] = status
	Expect(suite.Admin.Status().Update(w.ctx, u)).To(Succeed())
}

func serviceReady(addresses ...any) map[string]any {
	status := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	if len(addresses) > 0 {
		status["addresses"] = addresses
	}
	return status
}

func serviceNotReady(reason, message string, others ...any) map[string]any {
	return map[string]any{"conditions": append([]any{
		map[string]any{"type": "Ready", "status": "False", "reason": reason, "message": message},
	}, others...)}
}

func serviceCondition(conditionType, status string) any {
	return map[string]any{"type": conditionType, "status": status}
}

func serviceAddress(name, url string) any { return map[string]any{"name": name, "url": url} }

// route creates the HTTPRoute that KServe would make for a service.
func (w world) route(service string, change ...func(*gwapiv1.HTTPRoute)) {
	GinkgoHelper()
	r := &gwapiv1.HTTPRoute{ObjectMeta: w.in(service + "-kserve-route")}
	r.Labels = kserve.RouteLabels(service)
	path := "/" + w.namespace + "/" + service
	r.Spec.Hostnames = []gwapiv1.Hostname{host}
	r.Spec.ParentRefs = []gwapiv1.ParentReference{parent(gatewayName)}
	r.Spec.Rules = []gwapiv1.HTTPRouteRule{{Matches: []gwapiv1.HTTPRouteMatch{{
		Path: &gwapiv1.HTTPPathMatch{Type: new(gwapiv1.PathMatchPathPrefix), Value: &path},
	}}}}
	for _, c := range change {
		c(r)
	}
	Expect(suite.Admin.Create(w.ctx, r)).To(Succeed())
}

func parent(gateway string) gwapiv1.ParentReference {
	return gwapiv1.ParentReference{Namespace: new(gwapiv1.Namespace(gatewayNamespace)), Name: gwapiv1.ObjectName(gateway)}
}

func at(gateways ...string) func(*gwapiv1.HTTPRoute) {
	return func(r *gwapiv1.HTTPRoute) {
		r.Spec.ParentRefs = nil
		for _, g := range gateways {
			r.Spec.ParentRefs = append(r.Spec.ParentRefs, parent(g))
		}
	}
}

func hostnames(names ...gwapiv1.Hostname) func(*gwapiv1.HTTPRoute) {
	return func(r *gwapiv1.HTTPRoute) { r.Spec.Hostnames = names }
}

func named(name string) func(*gwapiv1.HTTPRoute) {
	return func(r *gwapiv1.HTTPRoute) { r.Name, r.Labels = name, nil }
}

// gatewaySays sets what one gateway says about a route.
func (w world) gatewaySays(route, gateway string, conditions ...metav1.Condition) {
	GinkgoHelper()
	r := &gwapiv1.HTTPRoute{}
	Expect(suite.Admin.Get(w.ctx, w.key(route), r)).To(Succeed())
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Now()
		conditions[i].ObservedGeneration = r.Generation
	}
	r.Status.Parents = []gwapiv1.RouteParentStatus{{ParentRef: parent(gateway), ControllerName: "istio.io/gateway-controller", Conditions: conditions}}
	Expect(suite.Admin.Status().Update(w.ctx, r)).To(Succeed())
}

func accepted() metav1.Condition {
	return metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}
}

func refused(reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unresolved(reason, message string) metav1.Condition {
	return metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// servedModel creates a model that lacks nothing but governance.
func (w world) servedModel(name string) {
	GinkgoHelper()
	w.serve(name, serviceReady())
	w.acceptedRoute(name)
	w.publish(name)
	Eventually(w.says(name)).Should(Equal("Ready/Reconciled"))
}

func (w world) acceptedRoute(service string, change ...func(*gwapiv1.HTTPRoute)) {
	GinkgoHelper()
	w.route(service, change...)
	w.gatewaySays(service+"-kserve-route", gatewayName, accepted())
}

// subscribe and allow create the two halves of a model's governance.
func (w world) subscribe(namespace, name, model string) *v1alpha1.MaaSSubscription {
	GinkgoHelper()
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: w.namespace, Name: model, Unlimited: true}}
	Expect(suite.Admin.Create(w.ctx, s)).To(Succeed())
	return s
}

func (w world) allow(namespace, name, model string) *v1alpha1.MaaSAuthPolicy {
	GinkgoHelper()
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	p.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: w.namespace, Name: model}}
	Expect(suite.Admin.Create(w.ctx, p)).To(Succeed())
	return p
}

// events are the reasons of the events about a model, each with its type; one that
// was repeated is there as often.
func (w world) events(name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var list eventsv1.EventList
		g.Expect(suite.Admin.List(w.ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
		var reasons []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Kind == "MaaSModelRef" && e.Regarding.Name == name {
				times := 1
				if e.Series != nil {
					times = int(max(e.Series.Count, 2))
				}
				reasons = append(reasons, slices.Repeat([]string{e.Type + " " + e.Reason}, times)...)
			}
		}
		return reasons
	}
}

// generated creates a policy as it would have been generated for a model.
func (w world) generated(object *unstructured.Unstructured, name, model string, change ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	object.SetNamespace(w.namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{
		v1alpha1.LabelModel: model, v1alpha1.LabelModelNamespace: w.namespace, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	})
	spec := map[string]any{"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": "any"}}
	if object.GetKind() == kuadrant.AuthPolicy.Kind {
		spec["rules"] = map[string]any{"authentication": map[string]any{"any": map[string]any{"anonymous": map[string]any{}}}}
	} else {
		spec["limits"] = map[string]any{"any": map[string]any{"rates": []any{map[string]any{"limit": int64(1), "window": "1m"}}}}
	}
	object.Object["spec"] = spec
	for _, c := range change {
		c(object)
	}
	Expect(suite.Admin.Create(w.ctx, object)).To(Succeed())
}
