// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestApplyOnAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrllog.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "apply on a real API server")
}

// shared is what all specs use: one API server, its administrator, and one informer cache.
var shared struct {
	env    *testenv.Env
	admin  client.Client
	mapper meta.RESTMapper
	cache  cache.Cache
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.GatewayAPI, testenv.Kuadrant}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	config := env.AdminConfig()
	httpClient, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	Expect(err).NotTo(HaveOccurred())
	admin, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	Expect(err).NotTo(HaveOccurred())
	informers, err := cache.New(config, cache.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: scheme.Scheme, DefaultTransform: trim})
	Expect(err).NotTo(HaveOccurred())

	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- informers.Start(running) }()
	DeferCleanup(func() {
		stop()
		Eventually(stopped).Should(Receive(BeNil()))
	})
	shared.env, shared.admin, shared.mapper, shared.cache = env, admin, mapper, informers
}, NodeTimeout(10*time.Minute))

// trim is the transform of the shared cache: every spec holds with copies that lack what the manager's lack.
func trim(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		apply.Trim(o, v1alpha1.FieldOwner)
	}
	return object, nil
}

// fixture is a namespace and an Applier that acts under a user of its own, so that the audit log tells its requests.
type fixture struct {
	*apply.Applier
	namespace string
	user      string
	// direct reads and writes as that user, without a cache.
	direct client.Client
	events []apply.Event
	seen   int
}

// newFixture returns an Applier that reads from the informer cache.
func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, shared.admin, "apply")
	Expect(err).NotTo(HaveOccurred())
	f := &fixture{namespace: namespace, user: namespace + "-applier"}
	f.direct = f.newClient(nil)
	f.Applier = apply.New(f.newClient(shared.cache), apply.Options{APIReader: f.direct, Recorder: f})
	return f
}

// newClient returns a client of the fixture's user; with a reader, its reads come from there.
func (f *fixture) newClient(reader client.Reader) client.Client {
	GinkgoHelper()
	config := shared.env.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: f.user, Groups: []string{"system:masters"}}
	opts := client.Options{Mapper: shared.mapper}
	if reader != nil {
		opts.Cache = &client.CacheOptions{Reader: reader, Unstructured: true}
	}
	c, err := client.New(config, opts)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// staleReader answers every read of one object with an old copy of it, or with NotFound when there is none.
type staleReader struct {
	copy *unstructured.Unstructured
}

func (s staleReader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.copy == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "stale"}, key.Name)
	}
	s.copy.DeepCopyInto(obj.(*unstructured.Unstructured))
	return nil
}

func (s staleReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not a list")
}

// stale returns an Applier of the same user whose cache never gets beyond the given copy.
func (f *fixture) stale(obj *unstructured.Unstructured) *apply.Applier {
	GinkgoHelper()
	return apply.New(f.newClient(staleReader{obj}), apply.Options{APIReader: f.direct, Recorder: f})
}

// Record implements apply.Recorder.
func (f *fixture) Record(e apply.Event) { f.events = append(f.events, e) }

// restart replaces the Applier by one without memory, as a restart of the operator does.
func (f *fixture) restart() {
	GinkgoHelper()
	f.Applier = apply.New(f.newClient(shared.cache), apply.Options{APIReader: f.direct, Recorder: f})
}

// requests returns what the Applier sent since the last call, from the audit log: the verb, with "(dry)" when nothing
// was to be stored and the status when it was refused.
func (f *fixture) requests(ctx context.Context) []string {
	GinkgoHelper()
	marker := fmt.Sprintf("marker-%d", f.seen)
	err := f.direct.Get(ctx, types.NamespacedName{Namespace: f.namespace, Name: marker}, newObject("v1", "ConfigMap"))
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "reading the marker: %v", err)
	var events []audit.Event
	Eventually(func(g Gomega) {
		events, err = shared.env.Audit().Events(audit.ByUser(f.user), func(e *audit.Event) bool { return e.Resource != "" })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(events).NotTo(BeEmpty())
		g.Expect(events[len(events)-1].Name).To(Equal(marker))
	}).Should(Succeed())
	var out []string
	for _, e := range events[f.seen : len(events)-1] {
		text := e.Verb
		if e.DryRun {
			text += "(dry)"
		}
		if e.Code >= http.StatusBadRequest {
			text += fmt.Sprintf("=%d", e.Code)
		}
		out = append(out, text)
	}
	f.seen = len(events)
	return out
}

// writes counts the requests that may have changed something.
func writes(requests []string) int {
	n := 0
	for _, r := range requests {
		if r == audit.VerbPatch || r == audit.VerbUpdate || r == audit.VerbCreate || r == audit.VerbDelete {
			n++
		}
	}
	return n
}

// apply applies and expects an outcome without error.
func (f *fixture) apply(ctx context.Context, desired *unstructured.Unstructured, want apply.Outcome) apply.Result {
	GinkgoHelper()
	result, err := f.Apply(ctx, desired)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.Outcome).To(Equal(want))
	return result
}

// live reads an object from the API server.
func live(ctx context.Context, obj *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	out := newObject(obj.GetAPIVersion(), obj.GetKind())
	Expect(shared.admin.Get(ctx, client.ObjectKeyFromObject(obj), out)).To(Succeed())
	return out
}

// cached waits until the cache has the newest copy of an object and returns it.
func cached(ctx context.Context, obj *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	newest := live(ctx, obj)
	out := newObject(obj.GetAPIVersion(), obj.GetKind())
	Eventually(func(g Gomega) {
		g.Expect(shared.cache.Get(ctx, client.ObjectKeyFromObject(obj), out)).To(Succeed())
		g.Expect(out.GetResourceVersion()).To(Equal(newest.GetResourceVersion()))
	}).Should(Succeed())
	return newest
}

// uncached waits until the cache no longer has an object.
func uncached(ctx context.Context, obj *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(shared.cache.Get(ctx, client.ObjectKeyFromObject(obj), newObject(obj.GetAPIVersion(), obj.GetKind())))
	}).Should(BeTrue())
}

// edit changes the live object as "kubectl edit" does: by an update with a manager of its own.
func edit(ctx context.Context, obj *unstructured.Unstructured, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	current := live(ctx, obj)
	change(current)
	Expect(shared.admin.Update(ctx, current, client.FieldOwner("kubectl-edit"))).To(Succeed())
	return cached(ctx, obj)
}

func newObject(apiVersion, kind string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	return obj
}

// managers lists the entries of managedFields as "name/operation".
func managers(obj *unstructured.Unstructured) []string {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		out = append(out, strings.TrimSuffix(entry.Manager+"/"+string(entry.Operation)+"/"+entry.Subresource, "/"))
	}
	return out
}
