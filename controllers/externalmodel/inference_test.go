// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/rig/models"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// theirs is an ExternalModel of the inference group whose name for clients nobody else has.
func (w world) theirs(name string) *inferencev1alpha1.ExternalModel {
	m := builder.InferenceExternalModel(w.namespace, name)
	m.Spec.ModelName = w.namespace + "/" + name
	return m
}

// provider is what the builder's ExternalModel of a name refers to.
func (w world) provider(name, host string) *inferencev1alpha1.ExternalProvider {
	return &inferencev1alpha1.ExternalProvider{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-provider"},
		Spec: inferencev1alpha1.ExternalProviderSpec{
			Provider: "openai", Endpoint: host,
			Auth: inferencev1alpha1.ProviderAuth{Type: inferencev1alpha1.AuthTypeAPIKey, SecretRef: inferencev1alpha1.LocalReference{Name: name + "-key"}},
		},
	}
}

func (w world) host(name string) string { return fmt.Sprintf("%s.%s.example.com", name, w.namespace) }

func (w world) storedTheirs(g Gomega, name string) *inferencev1alpha1.ExternalModel {
	m := &inferencev1alpha1.ExternalModel{}
	g.Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
	return m
}

// theirsSay is "<phase>/<reason of Ready>, <route>" of an ExternalModel of the inference
// group.
func (w world) theirsSay(name string) func(Gomega) string {
	return func(g Gomega) string {
		m := w.storedTheirs(g, name)
		ready := meta.FindStatusCondition(m.Status.Conditions, "Ready")
		if ready == nil || ready.ObservedGeneration != m.Generation {
			return "not evaluated"
		}
		return fmt.Sprintf("%s/%s, %s", m.Status.Phase, ready.Reason, m.Status.HTTPRouteName)
	}
}

// made are the objects that were made in the namespace, by their kind, with their owners.
func (w world) made(g Gomega) map[string]types.UID {
	owners := map[string]types.UID{}
	for _, kind := range children("", "") {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersionKind())
		g.Expect(suite.Admin.List(w.ctx, list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelExternalModel: "gpt"})).To(Succeed())
		for i := range list.Items {
			owners[kind.GetKind()] = metav1.GetControllerOf(&list.Items[i]).UID
		}
	}
	return owners
}

// ownedBy are owners as they are when a model has all that can be made.
func ownedBy(uid types.UID) map[string]types.UID {
	return map[string]types.UID{"Service": uid, "ServiceEntry": uid, "DestinationRule": uid, "HTTPRoute": uid}
}

// publishedRoute is the route that the MaaSModelRef gpt is served by.
func (w world) publishedRoute() string {
	ref := &v1alpha1.MaaSModelRef{}
	Expect(suite.Admin.Get(w.ctx, w.key("gpt"), ref)).To(Succeed())
	return ref.Status.HTTPRouteName
}

var _ = Describe("An ExternalModel of the inference group", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("is led to its provider, and says by which route (A53)", func() {
		theirs := w.theirs("gpt")
		w.create(theirs, w.provider("gpt", w.host("gpt")))
		Eventually(w.theirsSay("gpt")).Should(Equal("Pending/RouteNotGuarded, maas-gpt"))
		Expect(w.leading("maas-gpt")()).To(HavePrefix("0 of "))
		w.publish("gpt")
		Eventually(w.theirsSay("gpt")).Should(Equal("Ready/Reconciled, maas-gpt"))
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
		Expect(w.publishedRoute()).To(Equal("maas-gpt"))
		Expect(w.made(Default)).To(Equal(ownedBy(theirs.UID)))
		r := &gwapiv1.HTTPRoute{}
		Expect(suite.Admin.Get(w.ctx, w.key("maas-gpt"), r)).To(Succeed())
		Expect(r.Spec.Rules[1].Matches[0].Headers[0].Value).To(Equal(theirs.Spec.ModelName))

		mark := audit.Now()
		generation := r.Generation
		Consistently(func() int64 { return w.get(route("maas-gpt")).GetGeneration() }).WithTimeout(quiet).Should(Equal(generation))
		writes, err := suite.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.InNamespace(w.namespace))
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(BeEmpty())
	})

	It("follows its provider to another host, and lets all go with it", func() {
		at := w.provider("gpt", w.host("first"))
		w.create(w.theirs("gpt"), at)
		Eventually(w.made).Should(HaveLen(4))
		before := at.DeepCopy()
		at.Spec.Endpoint = w.host("second")
		Expect(suite.Admin.Patch(w.ctx, at, client.MergeFrom(before))).To(Succeed())
		Eventually(func() string {
			host, _, err := unstructured.NestedString(w.get(service("maas-gpt")).Object, "spec", "externalName")
			Expect(err).NotTo(HaveOccurred())
			return host
		}).Should(Equal(w.host("second")))
		w.remove(w.theirs("gpt"))
		Eventually(w.made).Should(BeEmpty())
	})

	It("takes over what was made for the other of its name, and gives it back, without a gap (9.3.52)", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		own, uid := w.stored(Default, "gpt"), w.get(route("maas-gpt")).GetUID()
		mark := audit.Now()

		theirs := w.theirs("gpt")
		w.create(w.provider("gpt", w.host("gpt")), theirs)
		Eventually(w.theirsSay("gpt")).Should(Equal("Ready/Reconciled, maas-gpt"))
		Eventually(w.says("gpt")).Should(Equal("Pending/Superseded"))
		Expect(w.message("gpt", v1alpha1.ConditionReady)()).To(ContainSubstring("has taken over"))
		Eventually(w.made).Should(Equal(ownedBy(theirs.UID)))

		w.remove(w.theirs("gpt"))
		Eventually(w.made).Should(Equal(ownedBy(own.UID)))
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		Eventually(func() error { return suite.Admin.Get(w.ctx, w.key("gpt"), w.theirs("gpt")) }).ShouldNot(Succeed())

		Expect(w.get(route("maas-gpt")).GetUID()).To(Equal(uid), "it was the same route all the time")
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
		gone, err := suite.Env.Audit().After(mark, audit.ByVerb("delete"), audit.InNamespace(w.namespace))
		Expect(err).NotTo(HaveOccurred())
		for _, event := range gone {
			Expect(event.Resource).To(BeElementOf("externalmodels"), "nothing else was deleted")
		}
	})

	It("outlives the other of its name", func() {
		w.create(w.model("gpt"))
		Eventually(w.made).Should(HaveLen(4))
		theirs := w.theirs("gpt")
		w.create(w.provider("gpt", w.host("gpt")), theirs)
		Eventually(w.made).Should(Equal(ownedBy(theirs.UID)))
		uid := w.get(route("maas-gpt")).GetUID()
		w.remove(w.model("gpt"))
		Eventually(func() error { return suite.Admin.Get(w.ctx, w.key("gpt"), w.model("gpt")) }).ShouldNot(Succeed())
		Consistently(w.made).WithTimeout(quiet).Should(Equal(ownedBy(theirs.UID)))
		Expect(w.get(route("maas-gpt")).GetUID()).To(Equal(uid))
	})

	It("says what it lacks, while the other of its name serves on", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		own := w.stored(Default, "gpt")
		w.create(w.theirs("gpt"))
		Eventually(w.theirsSay("gpt")).Should(Equal("Failed/ProviderNotFound, "))
		Eventually(w.says("gpt")).Should(Equal("Pending/Superseded"))
		Consistently(w.leading("maas-gpt")).WithTimeout(quiet).Should(Equal("2 of 2"))
		Expect(w.made(Default)).To(Equal(ownedBy(own.UID)))
		Expect(w.publishedRoute()).To(Equal("maas-gpt"))

		w.create(w.provider("gpt", w.host("gpt")))
		Eventually(w.theirsSay("gpt")).Should(Equal("Ready/Reconciled, maas-gpt"))
	})

	It("shares a host with models of the other group, and takes it on (W-29)", func(ctx SpecContext) {
		elsewhere := newWorld(ctx)
		elsewhere.create(elsewhere.model("gpt", host(w.host("shared"))))
		Eventually(elsewhere.made).Should(HaveLen(4))
		made := elsewhere.stored(Default, "gpt").CreationTimestamp.Time
		Eventually(func() time.Duration { return time.Since(made) }).Should(BeNumerically(">", apart))
		theirs := w.theirs("gpt")
		w.create(theirs, w.provider("gpt", w.host("shared")))
		Eventually(w.theirsSay("gpt")).Should(Equal("Pending/RouteNotGuarded, maas-gpt"))
		Expect(w.made(Default)).To(Equal(map[string]types.UID{"Service": theirs.UID, "HTTPRoute": theirs.UID}))
		elsewhere.remove(elsewhere.model("gpt"))
		Eventually(w.made).Should(Equal(ownedBy(theirs.UID)))
	})

	It("is refused hosts inside of the cluster, and takes the route back", func() {
		at := w.provider("gpt", w.host("gpt"))
		w.create(w.theirs("gpt"), at)
		Eventually(w.theirsSay("gpt")).Should(Equal("Pending/RouteNotGuarded, maas-gpt"))
		before := at.DeepCopy()
		at.Spec.Endpoint = "minio." + w.namespace
		Expect(suite.Admin.Patch(w.ctx, at, client.MergeFrom(before))).To(Succeed())
		Eventually(w.theirsSay("gpt")).Should(Equal("Failed/HostRefused, "))
		Eventually(w.made).Should(BeEmpty())
	})

	// upgraded is a model that payload processing of an earlier release has made a route for.
	upgraded := func() {
		GinkgoHelper()
		theirs := w.theirs("gpt")
		w.create(theirs)
		former := builder.Route(w.namespace, "gpt", models.GatewayNamespace, models.GatewayName).Unlabelled().Obj()
		former.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(theirs, inferencev1alpha1.GroupVersion.WithKind("ExternalModel"))}
		w.create(former)
		Eventually(w.theirsSay("gpt")).Should(Equal("Failed/ProviderNotFound, "))
		Eventually(func() error { // The operator writes the status, too.
			live := w.storedTheirs(Default, "gpt")
			live.Status.HTTPRouteName = "gpt"
			return suite.Admin.Status().Update(w.ctx, live)
		}).Should(Succeed())
	}

	It("loses what payload processing of an earlier release made for a host that is refused now", func() {
		upgraded()
		w.create(w.provider("gpt", "minio."+w.namespace))
		Eventually(w.theirsSay("gpt")).Should(Equal("Failed/HostRefused, "))
		Expect(w.exists(route("gpt"))(Default)).To(BeFalse())
	})

	It("loses what payload processing of an earlier release made for it", func() {
		foreign := service("gpt")
		foreign.SetNamespace(w.namespace)
		foreign.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "elsewhere.example.com"}
		w.create(foreign)
		upgraded()
		Consistently(w.theirsSay("gpt")).WithTimeout(quiet).Should(Equal("Failed/ProviderNotFound, gpt"), "what serves stays")

		w.create(w.provider("gpt", w.host("gpt")))
		Eventually(w.theirsSay("gpt")).Should(Equal("Pending/RouteNotGuarded, maas-gpt"))
		Expect(w.exists(route("gpt"))(Default)).To(BeFalse())
		Expect(w.exists(service("gpt"))(Default)).To(BeTrue(), "it is somebody else's")
	})
})
