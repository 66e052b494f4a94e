// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the operator's own program, under its own ServiceAccount,
// on a real control plane with the sample model, as make up does but without
// maas-api, and judges it from outside: by the objects in the cluster and by the
// audit log.
package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "the operator, end to end")
}

const startTimeout = 20 * time.Minute // From nothing: it may have to build a control plane.

// stack is the running operator.
var stack struct {
	program, controller, dir string
	env                      *testenv.Env
	admin                    client.Client
}

var _ = BeforeSuite(func(ctx SpecContext) {
	bin := GinkgoT().TempDir()
	run(ctx, "go", "build", "-mod=readonly", "-trimpath", "-o", bin+"/", "./cmd/maas-controller", "./test/cmd/devstack")
	stack.program, stack.controller, stack.dir = filepath.Join(bin, "devstack"), filepath.Join(bin, "maas-controller"), GinkgoT().TempDir()
	DeferCleanup(func(ctx SpecContext) { devstack(ctx, "down") })
	devstack(ctx, "up")

	env, err := testenv.Attach(filepath.Join(stack.dir, "controlplane"))
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	stack.env = env
	stack.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(startTimeout))

// devstack runs a command of the stack to its end.
func devstack(ctx SpecContext, args ...string) {
	GinkgoHelper()
	run(ctx, stack.program, append([]string{"--dir", stack.dir, "--without-maas-api", "--controller-binary", stack.controller}, args...)...)
}

func run(ctx SpecContext, program string, args ...string) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = testenv.RepoRoot()
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Run()).To(Succeed(), "%s %v", filepath.Base(program), args)
}
