// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestDevstack(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "devstack, the program behind make run")
}

const (
	// commandTimeout is generous: the machine may be busy with other suites.
	commandTimeout = 15 * time.Minute
	buildTimeout   = 15 * time.Minute
)

// programs are built once, exactly as the Makefile builds them, so that the
// compiler's cache serves both.
var programs struct{ devstack, controller string }

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	build := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-o", dir+"/",
		"./cmd/maas-controller", "./test/cmd/devstack")
	build.Dir = testenv.RepoRoot()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = GinkgoWriter, GinkgoWriter
	Expect(build.Run()).To(Succeed())
	programs.devstack = filepath.Join(dir, "devstack")
	programs.controller = filepath.Join(dir, "maas-controller")
}, NodeTimeout(buildTimeout))

// devstack starts the program on a data directory, with the controller of this
// suite.
func devstack(dir string, args ...string) *gexec.Session {
	GinkgoHelper()
	return bare(dir, append([]string{"--controller-binary", programs.controller}, args...)...)
}

// bare starts the program on a data directory and leaves the rest to it.
func bare(dir string, args ...string) *gexec.Session {
	GinkgoHelper()
	cmd := exec.Command(programs.devstack, append([]string{"--dir", dir}, args...)...) //nolint:noctx // the specs end it by signals
	cmd.Dir = testenv.RepoRoot()
	session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return session
}

// succeed waits for a command and returns what it printed.
func succeed(session *gexec.Session) string {
	GinkgoHelper()
	Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(0), func() string {
		return string(session.Err.Contents())
	})
	return string(session.Out.Contents())
}

// processesOf lists the processes that were started on a data directory.
func processesOf(dir string) ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it ended in between
		}
		if line := string(bytes.ReplaceAll(content, []byte{0}, []byte{' '})); strings.Contains(line, dir) {
			found = append(found, fmt.Sprintf("%s: %s", file, line))
		}
	}
	return found, nil
}

// controllerPID is the process that runs as maas-controller, or "".
func controllerPID(dir string) string {
	GinkgoHelper()
	for line := range strings.Lines(succeed(devstack(dir, "status"))) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "maas-controller" && fields[1] == "running" {
			return fields[2]
		}
	}
	return ""
}

var _ = Describe("devstack", Serial, func() {
	var dir string

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		DeferCleanup(func() {
			// Whatever a failed spec left behind must not outlive it.
			succeed(devstack(dir, "down"))
			Expect(processesOf(dir)).To(BeEmpty())
		})
	})

	It("shows the governed sample once and leaves nothing running", func() {
		out := succeed(devstack(dir, "run", "--once"))
		Expect(out).To(MatchRegexp(`llm/granite +Ready +https://maas\.example\.com/llm/granite`))
		Expect(out).To(MatchRegexp(`AuthPolicy +llm/maas-auth-granite +Enforced`))
		Expect(out).To(MatchRegexp(`TokenRateLimitPolicy +llm/maas-trlp-granite +Enforced`))
		Expect(out).To(MatchRegexp(`tokens-10000-per-1m +10000 per 1m +models-as-a-service/assistant-standard +Active`))
		Expect(out).To(MatchRegexp(`models-as-a-service/data-science-standard +Active +data-science`))
		Expect(out).To(MatchRegexp(`tokens-100000-per-1m-2000000-per-24h .*platform-premium +Active`))
		Expect(out).To(MatchRegexp(`tokens-unlimited +unlimited +models-as-a-service/reliability-unlimited +Active`))
		Expect(strings.Count(out, "tokens-")).To(Equal(3), "three limits for four subscriptions")
		Expect(out).To(ContainSubstring("admin.kubeconfig"))
		Expect(processesOf(dir)).To(BeEmpty())
	})

	It("ends everything when interrupted during the start", func() {
		session := devstack(dir, "run")
		Eventually(session.Err).WithTimeout(commandTimeout).Should(gbytes.Say("API server ready"))
		session.Signal(syscall.SIGINT)
		Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit())
		Expect(session.ExitCode()).NotTo(BeZero())
		Expect(string(session.Err.Contents())).To(ContainSubstring("interrupted"))
		Expect(processesOf(dir)).To(BeEmpty())
	})

	It("lives in the background until it is told to end", func(ctx SpecContext) {
		By("starting it")
		Expect(succeed(devstack(dir, "up"))).To(ContainSubstring("Settings for a shell"))
		before, err := processesOf(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).NotTo(BeEmpty())

		By("starting it again")
		Expect(succeed(devstack(dir, "up"))).To(ContainSubstring("Already running"))
		Expect(processesOf(dir)).To(ConsistOf(before))

		By("using its settings in a shell")
		Expect(shell(ctx, dir, `"$KUBECTL" get maasmodelref -n llm granite -o jsonpath={.status.phase}`)).To(Equal("Ready"))
		Expect(succeed(devstack(dir, "kubeconfig"))).To(Equal(shell(ctx, dir, `echo "$KUBECONFIG"`)))

		By("stopping the controller, twice")
		for range 2 {
			succeed(devstack(dir, "stop-controller"))
			Expect(controllerPID(dir)).To(BeEmpty())
		}

		By("starting the controller, twice, with the program of the first command")
		succeed(bare(dir, "start-controller"))
		pid := controllerPID(dir)
		Expect(pid).NotTo(BeEmpty())
		Expect(os.Readlink(filepath.Join("/proc", pid, "exe"))).To(Equal(programs.controller))
		succeed(devstack(dir, "start-controller"))
		Expect(controllerPID(dir)).To(Equal(pid))

		By("ending it, twice")
		Expect(succeed(devstack(dir, "down"))).To(ContainSubstring("Ended"))
		Expect(processesOf(dir)).To(BeEmpty())
		Expect(succeed(devstack(dir, "down"))).To(ContainSubstring("Nothing was running"))
	})

	It("says why a controller does not start and ends the rest", func() {
		broken := filepath.Join(dir, "broken")
		Expect(os.WriteFile(broken, []byte("#!/bin/sh\necho no such flag >&2\nexit 2\n"), 0o700)).To(Succeed())
		session := devstack(dir, "up", "--controller-binary", broken)
		Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(1))
		message := string(session.Err.Contents())
		Expect(message).To(ContainSubstring("maas-controller ended before it was ready"))
		Expect(message).To(ContainSubstring("no such flag"))
		Expect(processesOf(dir)).To(BeEmpty())
	})
})

// shell runs a script with the settings of the stack.
func shell(ctx context.Context, dir, script string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "sh", "-euc", ". "+filepath.Join(dir, "env")+"; "+script)
	cmd.Stderr = GinkgoWriter
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}
