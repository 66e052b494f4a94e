// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// user is how the API server knows the manager's service account.
	user = "system:serviceaccount:opendatahub:maas-controller"
	// lease is what replicas of the manager compete for.
	lease = "maas-controller.models-as-a-service.opendatahub.io"
	// patience is what a Deployment may take on a busy machine.
	patience = time.Minute
	// startTimeout is generous: with a cold cache it compiles the manager.
	startTimeout = 20 * time.Minute
)

func TestManifestsOnACluster(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manifests on a real API server")
}

var _ = Describe("config/default", Ordered, func() {
	var (
		cluster client.Client
		objects []*unstructured.Unstructured
		env     *testenv.Env
		program string
	)

	BeforeAll(func(ctx context.Context) {
		program = buildManager(GinkgoTB())
		var err error
		env, err = testenv.Start(ctx, testenv.Options{Controllers: true, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		scheme := runtime.NewScheme()
		Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
		Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
		cluster, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		objects = build(ctx, "config/default")
	}, NodeTimeout(startTimeout))

	It("is accepted by a real API server", func(ctx context.Context) {
		Expect(objects).NotTo(BeEmpty())
		for _, object := range objects {
			applied := client.ApplyConfigurationFromUnstructured(object)
			Expect(cluster.Apply(ctx, applied, client.FieldOwner("installer"), client.ForceOwnership)).
				To(Succeed(), "%s %s", object.GetKind(), object.GetName())
		}
	}, NodeTimeout(time.Minute))

	It("establishes all ten kinds", func(ctx context.Context) {
		var crds apiextensionsv1.CustomResourceDefinitionList
		Eventually(func(g Gomega) {
			g.Expect(cluster.List(ctx, &crds)).To(Succeed())
			established := 0
			for _, crd := range crds.Items {
				for _, condition := range crd.Status.Conditions {
					if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
						established++
					}
				}
			}
			g.Expect(established).To(Equal(10))
		}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
	}, NodeTimeout(patience))

	It("brings up the manager's Deployment under its service account", func(ctx context.Context) {
		var deployment appsv1.Deployment
		Eventually(func(g Gomega) {
			g.Expect(cluster.Get(ctx, types.NamespacedName{Namespace: "opendatahub", Name: "maas-controller"}, &deployment)).To(Succeed())
			g.Expect(deployment.Status.AvailableReplicas).To(Equal(int32(1)))
		}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
	}, NodeTimeout(2*patience))

	It("lets the manager run with the arguments of its Deployment, lead and hand over", func(ctx context.Context) {
		kubeconfig, err := env.OperatorKubeconfig(ctx)
		Expect(err).NotTo(HaveOccurred())
		webhooks, err := testenv.FreeAddress(ctx)
		Expect(err).NotTo(HaveOccurred())
		certs, err := env.InstallWebhooks(ctx, webhooks)
		Expect(err).NotTo(HaveOccurred())
		args := append(managerArgs(GinkgoTB()), "--kubeconfig="+kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0",
			"--webhook-bind-address="+webhooks, "--webhook-cert-dir="+certs)
		manager := exec.CommandContext(ctx, program, args...)
		manager.Stdout, manager.Stderr = GinkgoWriter, GinkgoWriter
		manager.Cancel = func() error { return manager.Process.Signal(syscall.SIGTERM) }
		Expect(manager.Start()).To(Succeed())
		ended := make(chan error, 1)
		go func() { ended <- manager.Wait() }()

		holder := func(g Gomega) string {
			var held coordinationv1.Lease
			g.Expect(cluster.Get(ctx, types.NamespacedName{Namespace: "opendatahub", Name: lease}, &held)).To(Succeed())
			if held.Spec.HolderIdentity == nil {
				return ""
			}
			return *held.Spec.HolderIdentity
		}
		Eventually(holder).WithContext(ctx).WithTimeout(patience).ShouldNot(BeEmpty())

		Expect(manager.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(ended).WithContext(ctx).WithTimeout(patience).Should(Receive(Succeed()))
		Eventually(holder).WithContext(ctx).WithTimeout(patience).Should(BeEmpty())
	}, NodeTimeout(5*patience))

	DescribeTable("grants the manager what it needs and no more",
		func(ctx context.Context, allowed bool, attributes authorizationv1.ResourceAttributes) {
			Eventually(func(g Gomega) {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user, ResourceAttributes: &attributes,
				}}
				g.Expect(cluster.Create(ctx, review)).To(Succeed())
				g.Expect(review.Status.Allowed).To(Equal(allowed), review.Status.Reason)
			}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
		},
		Entry("it may renew its lease", true, authorizationv1.ResourceAttributes{
			Verb: "update", Group: "coordination.k8s.io", Resource: "leases",
			Namespace: "opendatahub", Name: lease,
		}),
		Entry("it may not take another lease", false, authorizationv1.ResourceAttributes{
			Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "opendatahub", Name: "other",
		}),
		Entry("it may not take a lease elsewhere", false, authorizationv1.ResourceAttributes{
			Verb: "update", Group: "coordination.k8s.io", Resource: "leases",
			Namespace: "kube-system", Name: lease,
		}),
		Entry("it may authenticate callers of its metrics", true, authorizationv1.ResourceAttributes{
			Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews",
		}),
		Entry("it may write the policies it generates", true, authorizationv1.ResourceAttributes{
			Verb: "patch", Group: "kuadrant.io", Resource: "authpolicies", Namespace: "models",
		}),
		Entry("it may report the state of a model", true, authorizationv1.ResourceAttributes{
			Verb: "patch", Group: "maas.opendatahub.io", Resource: "maasmodelrefs", Subresource: "status", Namespace: "models",
		}),
		Entry("it may not write secrets", false, authorizationv1.ResourceAttributes{
			Verb: "update", Resource: "secrets", Namespace: "models",
		}),
		Entry("it may not change its own rights", false, authorizationv1.ResourceAttributes{
			Verb: "update", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "maas-controller",
		}),
	)
})

// build runs the pinned kustomize on a directory of the repository.
func build(ctx context.Context, dir string) []*unstructured.Unstructured {
	GinkgoHelper()
	absolute, err := filepath.Abs(filepath.Join(root, dir))
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "go", "tool", "kustomize", "build", absolute)
	cmd.Dir = filepath.Join(root, "hack/tools/kustomize")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), stderr.String())
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		Expect(err).NotTo(HaveOccurred())
		objects = append(objects, object)
	}
}
