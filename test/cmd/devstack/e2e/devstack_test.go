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
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
var programs struct{ devstack, controller, service string }

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	build := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-o", dir+"/",
		"./cmd/maas-controller", "./cmd/maas-api", "./test/cmd/devstack")
	build.Dir = testenv.RepoRoot()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = GinkgoWriter, GinkgoWriter
	Expect(build.Run()).To(Succeed())
	programs.devstack = filepath.Join(dir, "devstack")
	programs.controller = filepath.Join(dir, "maas-controller")
	programs.service = filepath.Join(dir, "maas-api")
	findCurl(ctx)
}, NodeTimeout(buildTimeout))

// findCurl makes sure that there is a curl on the path, which the README's lines
// call: that of the machine, or one unpacked below bin/.
func findCurl(ctx context.Context) {
	GinkgoHelper()
	if _, err := exec.LookPath("curl"); err == nil {
		return
	}
	fetch := exec.CommandContext(ctx, filepath.Join(testenv.RepoRoot(), "hack", "curl.sh"))
	fetch.Stdout, fetch.Stderr = GinkgoWriter, GinkgoWriter
	Expect(fetch.Run()).To(Succeed(), "this machine has no curl, which the README's lines call, and hack/curl.sh brings none")
	dir, err := filepath.Abs(filepath.Join(testenv.RepoRoot(), "bin", "curl", "bin"))
	Expect(err).NotTo(HaveOccurred())
	before := os.Getenv("PATH")
	Expect(os.Setenv("PATH", dir+string(os.PathListSeparator)+before)).To(Succeed())
	DeferCleanup(os.Setenv, "PATH", before)
	_, err = exec.LookPath("curl")
	Expect(err).NotTo(HaveOccurred(), "hack/curl.sh unpacked a curl")
}

// dataDir makes a data directory. Whatever a failed spec leaves running in it ends
// with the spec.
func dataDir() string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	DeferCleanup(func() {
		succeed(devstack(dir, "clean"))
		Expect(processesOf(dir)).To(BeEmpty())
	})
	return dir
}

// devstack starts the program on a data directory, with the programs of this suite.
func devstack(dir string, args ...string) *gexec.Session {
	GinkgoHelper()
	return bare(dir, append([]string{"--controller-binary", programs.controller, "--maas-api-binary", programs.service}, args...)...)
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

// processesOf lists the processes that were started on a data directory: those that
// were told of it, or that write their log there.
func processesOf(dir string) ([]string, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, process := range all {
		content, err := os.ReadFile(filepath.Join(process, "cmdline"))
		if err != nil {
			continue // it ended in between
		}
		log, _ := os.Readlink(filepath.Join(process, "fd", "1")) // others' are closed to us
		line := string(bytes.ReplaceAll(content, []byte{0}, []byte{' '}))
		if strings.Contains(line, dir) || strings.HasPrefix(log, dir) {
			found = append(found, fmt.Sprintf("%s: %s", process, line))
		}
	}
	return found, nil
}
