// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
)

// The gateways of the default tenant and of nobody.
var (
	theGateway   = builder.Key(stage.GatewayNamespace, stage.GatewayName)
	otherGateway = builder.Key(stage.GatewayNamespace, "somebody-elses-gateway")
)

// otherHost is that of a gateway which is not the model's.
const otherHost = "elsewhere.example.com"

// modelRef reads a model.
func (w world) modelRef(key types.NamespacedName) *v1alpha1.MaaSModelRef {
	GinkgoHelper()
	return reload(w, builder.ModelRef(key.Namespace, key.Name).Obj())
}

// modelSays sums a model up as "<phase>/<reason of Ready>", once its present spec is judged.
func (w world) modelSays(key types.NamespacedName) func() string {
	return func() string {
		GinkgoHelper()
		ref := w.modelRef(key)
		ready := w.ready(ref)
		if ready.ObservedGeneration != ref.Generation {
			return "not judged yet"
		}
		return fmt.Sprintf("%s/%s", ref.Status.Phase, ready.Reason)
	}
}

// modelVerdict is "<status>/<reason>" of a condition of a model.
func (w world) modelVerdict(key types.NamespacedName, kind v1alpha1.ConditionType) func() string {
	return func() string {
		GinkgoHelper()
		c := w.condition(w.modelRef(key), kind)
		return fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
}

// modelWords are the message of a condition of a model.
func (w world) modelWords(key types.NamespacedName, kind v1alpha1.ConditionType) func() string {
	return func() string {
		GinkgoHelper()
		return w.condition(w.modelRef(key), kind).Message
	}
}

// modelEndpoint is where clients are sent.
func (w world) modelEndpoint(key types.NamespacedName) func() string {
	return func() string {
		GinkgoHelper()
		return w.modelRef(key).Status.Endpoint
	}
}

// reported lists the events about a model as "<type> <reason>".
func (w world) reported(key types.NamespacedName) func() []string {
	return func() []string {
		GinkgoHelper()
		var list eventsv1.EventList
		Expect(on.Admin.List(w.ctx, &list, client.InNamespace(key.Namespace))).To(Succeed())
		var out []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Kind == "MaaSModelRef" && e.Regarding.Name == key.Name {
				out = append(out, e.Type+" "+e.Reason)
			}
		}
		return out
	}
}

// removeAll deletes objects and waits until they are gone.
func (w world) removeAll(objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(client.IgnoreNotFound(on.Admin.Delete(w.ctx, o))).To(Succeed())
	}
	for _, o := range objects {
		Eventually(func() bool {
			return apierrors.IsNotFound(on.Admin.Get(w.ctx, client.ObjectKeyFromObject(o), o))
		}).Should(BeTrue(), "%T %s is still there", o, client.ObjectKeyFromObject(o))
	}
}

// modelRoute is one of a model server at the default gateway, with the path that
// KServe would give it.
func (w world) modelRoute(name string) *builder.RouteBuilder {
	return builder.Route(w.namespace, name, stage.GatewayNamespace, stage.GatewayName).
		Hostnames(stage.Hostname).Path("/" + w.namespace + "/" + name)
}

// spokenFor creates a model server for which the test speaks, with a status.
func (w world) spokenFor(name string, status map[string]any) *unstructured.Unstructured {
	GinkgoHelper()
	server := builder.ModelServer(w.namespace, name)
	server.SetAnnotations(map[string]string{kserve.AnnotationStall: "true"})
	w.create(server)
	w.serverSays(server, status)
	return server
}

// serverSays replaces the status of a model server.
func (w world) serverSays(server *unstructured.Unstructured, status map[string]any) {
	GinkgoHelper()
	Eventually(func() error {
		if err := on.Admin.Get(w.ctx, client.ObjectKeyFromObject(server), server); err != nil {
			return err
		}
		server.Object["status"] = status
		return on.Admin.Status().Update(w.ctx, server)
	}).Should(Succeed())
}

// serverReady is the status of a model server that is ready at addresses.
func serverReady(addresses ...any) map[string]any {
	status := map[string]any{"conditions": []any{serverCondition("Ready", "True", "", "")}}
	if len(addresses) > 0 {
		status["addresses"] = addresses
	}
	return status
}

func serverCondition(kind, status, reason, message string) any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
}

func serverAddress(name, url string) any { return map[string]any{"name": name, "url": url} }

// gatewaySays sets what one gateway says about a route that is stalled.
func (w world) gatewaySays(route *gwapiv1.HTTPRoute, gateway types.NamespacedName, conditions ...metav1.Condition) {
	GinkgoHelper()
	reload(w, route)
	parent := builder.Route("", "", gateway.Namespace, gateway.Name).Obj().Spec.ParentRefs[0]
	entry := gwapiv1.RouteParentStatus{ParentRef: parent, ControllerName: "istio.io/gateway-controller"}
	for _, c := range conditions {
		c.ObservedGeneration = route.Generation
		meta.SetStatusCondition(&entry.Conditions, c)
	}
	route.Status.Parents = []gwapiv1.RouteParentStatus{entry}
	Expect(on.Admin.Status().Update(w.ctx, route)).To(Succeed())
}

func routeAccepted() metav1.Condition {
	return metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}
}

func routeRefused(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// publish creates a MaaSModelRef for the model server of its name.
func (w world) publish(name string) types.NamespacedName {
	GinkgoHelper()
	w.create(builder.ModelRef(w.namespace, name).Obj())
	return builder.Key(w.namespace, name)
}

// routedBy says which route an ExternalModel of the inference group has.
func (w world) routedBy(model *inferencev1alpha1.ExternalModel, route string) {
	GinkgoHelper()
	reload(w, model).Status.HTTPRouteName = route
	Expect(on.Admin.Status().Update(w.ctx, model)).To(Succeed())
}

// pair adds both halves of a model's governance in the default tenant.
func (w world) pair(models ...types.NamespacedName) (*v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription) {
	GinkgoHelper()
	subscription := w.subscription("gold")
	for _, m := range models {
		subscription.Limit(m, 100, "1m")
	}
	policy, paid := w.authPolicy("everyone", models...).Obj(), subscription.Obj()
	w.create(policy, paid)
	return policy, paid
}
