// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// eventually is how long something the control plane does may take on a busy
	// machine.
	eventually   = 90 * time.Second
	pollInterval = 100 * time.Millisecond
	startTimeout = 15 * time.Minute
)

// shared is one whole control plane for the specs that do not need their own.
var (
	shared *testenv.Env
	admin  client.Client
)

// helperDirVariable makes the test binary another program: one that starts an
// instance in that directory and waits to be killed.
const helperDirVariable = "TESTENV_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDirVariable); dir != "" {
		os.Exit(startAndWait(dir))
	}
	os.Exit(m.Run())
}

func startAndWait(dir string) int {
	if _, err := testenv.Start(context.Background(), testenv.Options{Dir: dir}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("started")
	select {}
}

func TestTestenv(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Test environment")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(eventually)
	SetDefaultEventuallyPollingInterval(pollInterval)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	begin := time.Now()
	var err error
	shared, err = testenv.Start(ctx, testenv.Options{
		Controllers: true, CRDs: []testenv.CRDSet{testenv.MaaS}, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry("start with controllers", time.Since(begin).Round(time.Millisecond).String())
	admin = clientFor(shared.AdminConfig())
})

var _ = AfterSuite(func() {
	if shared != nil {
		Expect(shared.Stop()).To(Succeed())
	}
})

func clientFor(config *rest.Config) client.Client {
	GinkgoHelper()
	c, err := client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name, err := testenv.NewNamespace(ctx, admin, "harness")
	Expect(err).NotTo(HaveOccurred())
	return name
}

// startInstance starts an instance of its own for one spec, without controllers.
func startInstance(o testenv.Options) *testenv.Env {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	o.Log = GinkgoWriter
	env, err := testenv.Start(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	return env
}

// processes returns the ids of the programs of an instance.
func processes(dir string) []int {
	GinkgoHelper()
	programs, err := testenv.Inspect(dir)
	Expect(err).NotTo(HaveOccurred())
	ids := make([]int, 0, len(programs))
	for _, p := range programs {
		Expect(p.Running).To(BeTrue(), "%s is not running", p.Name)
		ids = append(ids, p.PID)
	}
	return ids
}
