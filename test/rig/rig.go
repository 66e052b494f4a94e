// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig holds what the suites of controllers have in common: an API server, the
// clients of an administrator and of the operator, and managers under the operator's
// identity that are wired as its program wires its own. Whatever is started ends with
// the node that started it. It knows no controller: each suite says which it sets up,
// and what is in its cluster.
package rig

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// polling is how often specs look for what they wait for.
const polling = 50 * time.Millisecond

// Specs runs the specs of a package, each of which may wait as long as patience.
func Specs(t *testing.T, name string, patience time.Duration) {
	t.Helper()
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(ginkgo.GinkgoLogr)
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(polling)
	ginkgo.RunSpecs(t, name)
}

// Options say what a suite wants.
type Options struct {
	// CRDs are installed at the start.
	CRDs []testenv.CRDSet
	// Controllers runs those of Kubernetes, the garbage collector among them.
	Controllers bool
	// Refused tells which requests of the operator may be forbidden. By default none
	// may: its rights suffice.
	Refused audit.Filter
}

// Rig is a running API server.
type Rig struct {
	Env *testenv.Env
	// Scheme is the operator's.
	Scheme *runtime.Scheme
	// Admin may do everything.
	Admin client.Client
	// Operator is how the operator reaches the API server: with the rights it has, and
	// not one more.
	Operator *rest.Config
}

// Start starts an API server. After all specs it must not have forbidden the operator
// anything.
func Start(ctx context.Context, o Options) *Rig {
	ginkgo.GinkgoHelper()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: o.CRDs, Controllers: o.Controllers, Log: ginkgo.GinkgoWriter})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(env.Stop)
	r := &Rig{Env: env, Scheme: parts.Scheme(ginkgo.GinkgoTB())}
	r.Admin, err = client.New(env.AdminConfig(), client.Options{Scheme: r.Scheme})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	r.Operator, err = env.OperatorConfig(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { r.expectRights(o.Refused) })
	return r
}

func (r *Rig) expectRights(refused audit.Filter) {
	filters := []audit.Filter{audit.ByUser(testenv.OperatorUser), audit.Forbidden()}
	if refused != nil {
		filters = append(filters, audit.Not(refused))
	}
	events, err := r.Env.Audit().Events(filters...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(events).To(gomega.BeEmpty(), "requests of the operator that were forbidden")
}

// Manager says what a manager does.
type Manager struct {
	// SetUp registers the controllers.
	SetUp func(context.Context, ctrl.Manager, *facts.OptionalAPIs) error
	// Written are kinds of which its cache holds nothing that others have written.
	Written []client.Object
}

// Operate runs controllers as the operator.
func (r *Rig) Operate(ctx context.Context, m Manager) {
	ginkgo.GinkgoHelper()
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})}
	by := map[client.Object]cache.ByObject{}
	for _, object := range m.Written {
		by[object] = ours
	}
	mgr, err := ctrl.NewManager(r.Operator, ctrl.Options{
		Scheme:  r.Scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache:   cache.Options{ByObject: by},
		// A process may run several.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	discover, err := discovery.NewDiscoveryClientForConfig(r.Operator)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	apis := facts.NewOptionalAPIs(discover)
	gomega.Expect(m.SetUp(ctx, mgr, apis)).To(gomega.Succeed())
	gomega.Expect(apis.SetupWithManager(mgr)).To(gomega.Succeed())
	Run(ctx, mgr)
}

// Run runs a manager.
func Run(ctx context.Context, mgr ctrl.Manager) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(run) }()
	ginkgo.DeferCleanup(func() {
		stop()
		gomega.Eventually(ended).Should(gomega.Receive(gomega.Succeed()))
	})
}
