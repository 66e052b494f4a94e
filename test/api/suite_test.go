// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// liveNamespace holds a valid object of every kind, stored under the real CRDs, to
	// try status updates on.
	liveNamespace = "live"
	// freshNamespace stays empty: creates are tried there.
	freshNamespace = "fresh"
	// startTimeout bounds the start of the API server, with building it.
	startTimeout = 20 * time.Minute
	// settleTimeout bounds how long the API server takes to apply changed CRDs.
	settleTimeout = 3 * time.Minute
)

// table is every row: the handwritten ones, and derived ones for the other
// constraints.
var table = mustTable()

// api is the client of this process; the API server is one for all of them.
var api client.Client

func mustTable() []rule {
	crds, err := loadCRDs()
	if err != nil {
		panic(err)
	}
	var all []constraint
	for _, k := range slices.Sorted(maps.Keys(crds)) { // All processes need the same order.
		all = append(all, constraints(k, crds[k])...)
	}
	rows := handwritten()
	more, _ := derived(all, rows)
	return slices.Concat(rows, more)
}

func TestAPI(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "API rules")
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	// The context of a node ends with the node; the server lives on.
	env, err := testenv.Start(ctx, testenv.Options{Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)

	connect(env.Kubeconfig())
	storeViolations(ctx)
	Expect(env.InstallCRDs(ctx, testenv.MaaS)).To(Succeed())
	awaitRules(ctx)
	createLiveObjects(ctx)
	return []byte(env.Kubeconfig())
}, func(kubeconfig []byte) {
	connect(string(kubeconfig))
}, NodeTimeout(startTimeout))

// connect makes the client. A client without a cache serves all kinds by their
// Go types, as the operator reads them.
func connect(kubeconfig string) {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	config.WarningHandlerWithContext = noWarnings{}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, inferencev1alpha1.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	api, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// noWarnings drops the API server's warnings about ratcheted violations.
type noWarnings struct{}

func (noWarnings) HandleWarningHeaderWithContext(context.Context, int, string, string) {}

// storeViolations installs CRDs without rules and stores every refused value of
// the table under them.
func storeViolations(ctx context.Context) {
	GinkgoHelper()
	crds, err := loadCRDs()
	Expect(err).NotTo(HaveOccurred())
	for _, crd := range crds {
		Expect(api.Create(ctx, permissive(crd))).To(Succeed())
	}
	for _, crd := range crds {
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
			g.Expect(crd.Status.Conditions).To(ContainElement(And(
				HaveField("Type", apiextensionsv1.Established),
				HaveField("Status", apiextensionsv1.ConditionTrue),
			)))
		}).WithTimeout(settleTimeout).Should(Succeed())
	}
	createNamespace(ctx, liveNamespace)
	createNamespace(ctx, freshNamespace)
	Expect(api.Create(ctx, live(config))).To(Succeed()) // Its name is not acceptable later.
	for i, row := range table {
		for j, value := range row.refuses {
			store(ctx, row, value, storedName(i, j))
		}
	}
}

func storedName(row, value int) string { return fmt.Sprintf("stored-%d-%d", row, value) }

// store creates an object with the value. Each is in a namespace of its own, so
// that also kinds with a fixed name can be stored many times.
func store(ctx context.Context, row rule, value any, name string) {
	GinkgoHelper()
	object := storedObject(row, value, name)
	status := runtime.DeepCopyJSONValue(object.Object["status"])
	if object.GetNamespace() != "" {
		createNamespace(ctx, name)
	}
	// A kind may not be served yet although it is established.
	Eventually(func() error { return api.Create(ctx, object) }).WithTimeout(settleTimeout).Should(Succeed(), "%s %s", row.kind, row.name)
	object.Object["status"] = status
	Expect(api.Status().Update(ctx, object)).To(Succeed(), "%s %s", row.kind, row.name)
}

func storedObject(row rule, value any, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: manifest(row.kind)}
	if row.kind == config {
		object.SetName(name) // Its only valid name would be taken after one row.
	} else {
		object.SetNamespace(name)
	}
	object.Object = with(object.Object, row.field, value)
	return object
}

func createNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

// awaitRules waits until the API server enforces the real CRDs: it takes up a changed
// CRD only some time after accepting it.
func awaitRules(ctx context.Context) {
	GinkgoHelper()
	for k := range manifests {
		object := valid(k, freshNamespace)
		object.SetName("not.a.valid.name")
		delete(object.Object, "spec")
		Eventually(func() error {
			return api.Create(ctx, object.DeepCopy(), client.DryRunAll)
		}).WithTimeout(settleTimeout).Should(MatchError(apierrors.IsInvalid, "IsInvalid"), "%s", k)
	}
}

// valid returns the valid object of a kind.
func valid(k kind, namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: manifest(k)}
	if k != config {
		object.SetNamespace(namespace)
	}
	return object
}

// live returns the object of a kind whose status the specs write. The one of Config has
// a name of its own: "default" would be taken for those that create a Config.
func live(k kind) *unstructured.Unstructured {
	object := valid(k, liveNamespace)
	if k == config {
		object.SetName("live")
	}
	return object
}

// createLiveObjects creates a valid object of every kind but Config, of which there can
// be only one.
func createLiveObjects(ctx context.Context) {
	GinkgoHelper()
	for k := range manifests {
		if k != config {
			Expect(api.Create(ctx, live(k))).To(Succeed(), "%s", k)
		}
	}
}
