// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// asCommandVariable makes the test binary the command itself.
const asCommandVariable = "CONTROLPLANE_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommandVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestControlplane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "controlplane command")
}

// result is what a call of the command gave.
type result struct {
	code   int
	stdout string
	stderr string
}

func call(args ...string) result {
	GinkgoHelper()
	cmd := exec.CommandContext(context.Background(), os.Args[0], args...) //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), asCommandVariable+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// kubectl runs the client built beside the servers.
func kubectl(kubeconfig string, args ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(context.Background(), filepath.Join(testenv.RepoRoot(), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

var _ = Describe("A control plane left running", func() {
	It("goes up and down, each time once", func() {
		dir := filepath.Join(GinkgoT().TempDir(), "instance")
		DeferCleanup(func() { call("down", "--dir", dir) })

		By("being down")
		status := call("status", "--dir", dir)
		Expect(status.code).To(Equal(exitNotRunning))
		Expect(status.stderr).To(ContainSubstring("no control plane is running"))
		Expect(call("kubeconfig", "--dir", dir).code).To(Equal(exitNotRunning))
		down := call("down", "--dir", dir)
		Expect(down).To(Equal(result{stdout: "nothing was running\n"}))

		By("going up")
		up := call("up", "--dir", dir, "--crds", "maas")
		Expect(up.code).To(BeZero(), up.stderr)
		Expect(up.stdout).To(ContainSubstring("API server ready at https://127.0.0.1:"))
		before, err := testenv.Inspect(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).To(HaveLen(5))

		By("staying up")
		again := call("up", "--dir", dir)
		Expect(again.code).To(BeZero(), again.stderr)
		Expect(again.stdout).To(ContainSubstring("already running"))
		after, err := testenv.Inspect(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(before))
		status = call("status", "--dir", dir)
		Expect(status.code).To(BeZero(), status.stderr)
		for _, p := range before {
			Expect(status.stdout).To(ContainSubstring(p.Name))
		}

		By("answering kubectl")
		kubeconfig := call("kubeconfig", "--dir", dir)
		Expect(kubeconfig.code).To(BeZero(), kubeconfig.stderr)
		path := strings.TrimSpace(kubeconfig.stdout)
		Expect(kubectl(path, "get", "crd", "-o", "name")).To(ContainSubstring("maassubscriptions.maas.opendatahub.io"))
		kubectl(path, "create", "namespace", "kept")
		operator := call("kubeconfig", "--operator", "--dir", dir)
		Expect(operator.code).To(BeZero(), operator.stderr)
		Expect(kubectl(strings.TrimSpace(operator.stdout), "auth", "whoami")).To(ContainSubstring(testenv.OperatorUser))

		By("going down")
		Expect(call("down", "--dir", dir)).To(Equal(result{stdout: "stopped\n"}))
		for _, p := range before {
			Expect(process.CommandLine(p.PID)).To(BeEmpty(), "%s is still there", p.Name)
		}
		Expect(call("down", "--dir", dir)).To(Equal(result{stdout: "nothing was running\n"}))
		Expect(call("status", "--dir", dir).code).To(Equal(exitNotRunning))

		By("going up again with what was stored")
		Expect(call("up", "--dir", dir, "--api-only").code).To(BeZero())
		Expect(kubectl(path, "get", "namespace", "kept", "-o", "name")).To(Equal("namespace/kept\n"))
		with := call("up", "--dir", dir)
		Expect(with.code).To(Equal(exitFailure))
		Expect(with.stderr).To(ContainSubstring("without controllers"))

		By("being removed")
		Expect(call("down", "--dir", dir, "--delete")).To(Equal(result{stdout: "stopped\n"}))
		Expect(dir).NotTo(BeADirectory())
	})

	It("does not end what belongs to another program", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		env, err := testenv.Start(ctx, testenv.Options{Dir: dir, Owner: "devstack", Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		down := call("down", "--dir", dir, "--delete")
		Expect(down.code).To(Equal(exitFailure))
		Expect(down.stderr).To(ContainSubstring("devstack"))
		Expect(env.Ready(ctx)).To(Succeed())
	})

	DescribeTable("refuses wrong usage",
		func(message string, args ...string) {
			got := call(args...)
			Expect(got.code).To(Equal(exitUsage))
			Expect(got.stderr).To(ContainSubstring(message))
		},
		Entry("an unknown command", "nonesuch", "nonesuch"),
		Entry("an unknown flag", "--nonesuch", "up", "--nonesuch"),
		Entry("an argument too many", "nonesuch", "down", "nonesuch"),
		Entry("an unknown set of CRDs", "there is no set of CRDs \"nonesuch\"", "up", "--crds", "nonesuch"),
	)

	It("explains itself", func() {
		help := call("--help")
		Expect(help.code).To(BeZero())
		for _, command := range []string{"up", "down", "status", "kubeconfig"} {
			Expect(help.stdout).To(ContainSubstring("\n  " + command))
		}
		Expect(help.stdout).To(ContainSubstring("Exit codes"))
	})
})
