// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// eventually is how long something may take on a busy machine.
	eventually   = 90 * time.Second
	pollInterval = 50 * time.Millisecond
	startTimeout = 15 * time.Minute

	// The images of the specs, and one that nobody has.
	imageTiny    = "registry.example.com/tiny:1"
	imageMaaSAPI = "registry.example.com/maas-api:1"
	imagePretend = "registry.example.com/pretend:1"
	imageUnknown = "registry.example.com/unknown:1"
)

// shared is one control plane with one runner for all specs.
var (
	shared *testenv.Env
	admin  client.Client
	runner *workload.Runner
)

// TestMain makes the test binary the tiny program where the variable says so.
func TestMain(m *testing.M) {
	if mode := os.Getenv(tinyVariable); mode != "" {
		os.Exit(tiny(mode))
	}
	os.Exit(m.Run())
}

func TestWorkload(t *testing.T) {
	t.Parallel()
	RegisterFailHandler(Fail)
	RunSpecs(t, "Programs of Pods")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(eventually)
	SetDefaultEventuallyPollingInterval(pollInterval)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	dir := GinkgoT().TempDir()
	api, err := program.Build(ctx, dir, "maas-api")
	Expect(err).NotTo(HaveOccurred())
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	shared, err = testenv.Start(ctx, testenv.Options{
		Controllers: true, RunPods: true, Log: GinkgoWriter,
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.CertManager},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shared.Stop)
	admin, err = client.New(shared.AdminConfig(), client.Options{})
	Expect(err).NotTo(HaveOccurred())
	runner, err = workload.Start(ctx, workload.Options{
		Env: shared,
		Images: map[string]workload.Program{
			imageTiny:    {Path: self, Names: []string{"/tiny"}, Listen: tinyListeners},
			imageMaaSAPI: workload.MaaSAPI(api),
			imagePretend: {},
		},
		Certificates: []workload.CertificateMaker{workload.ServiceCA, workload.CertManager},
		Dir:          filepath.Join(dir, "workload"),
		Log:          GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(runner.Stop)
})

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name, err := testenv.NewNamespace(ctx, admin, "workload")
	Expect(err).NotTo(HaveOccurred())
	return name
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(admin.Create(ctx, o)).To(Succeed())
	}
}

// labels are those of Pods that are run, with one that tells them apart.
func labels(app string) map[string]string {
	return map[string]string{testenv.RunLabel: testenv.RunLabelValue, "app": app}
}

// pods lists the Pods of an app that are not being deleted.
func pods(ctx context.Context, namespace, app string) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(admin.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": app})).To(Succeed())
	var some []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			some = append(some, p)
		}
	}
	return some
}

// waitingFor is why the first container of the only Pod of an app does not run, once
// it says so.
func waitingFor(ctx context.Context, namespace, app string) func() (reason string, err error) {
	return func() (string, error) {
		for _, p := range pods(ctx, namespace, app) {
			for _, c := range p.Status.ContainerStatuses {
				if c.State.Waiting != nil {
					return c.State.Waiting.Reason + ": " + c.State.Waiting.Message, nil
				}
			}
		}
		return "", nil
	}
}

// warnings are the events about the Pods of a namespace.
func warnings(ctx context.Context, namespace string) func() ([]string, error) {
	return func() ([]string, error) {
		events := &corev1.EventList{}
		err := admin.List(ctx, events, client.InNamespace(namespace))
		var texts []string
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning {
				texts = append(texts, e.Reason+": "+e.Message)
			}
		}
		return texts, err
	}
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
}
