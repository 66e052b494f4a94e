// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/stage/specs"
)

// example runs the suite below, which is to fail or to pass.
var example = flag.String("specs.example", "", `"dies" or "lives"`)

func TestExample(t *testing.T) {
	if *example == "" {
		return
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Hour)
	SetDefaultConsistentlyDuration(time.Hour)
	RunSpecs(t, "an example")
}

// ended is closed when the program of the example ends.
var ended = make(chan struct{})

var _ = BeforeSuite(func(ctx SpecContext) {
	log, err := logs.New("operator")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(log, []byte("the last words\n"), 0o600)).To(Succeed())
	DeferCleanup(specs.Watch(ctx, ended, func() error { return errors.New("it ended with 42") }))
})

var _ = Describe("a suite whose program ends", func() {
	never := func() int { return 0 }

	It("passes before", func(ctx SpecContext) {
		Eventually(never).Should(BeZero())
		Eventually(ctx, func(context.Context) int { return 0 }).Should(BeZero())
	})

	It("waits for nothing", func(ctx SpecContext) {
		if *example == "lives" {
			return
		}
		close(ended)
		waits := []func(){
			func() { Eventually(never).Should(Equal(1)) },
			func() { Eventually(ctx, func(context.Context) int { return 0 }).Should(Equal(1)) },
			func() { Consistently(never).Should(BeZero()) },
		}
		for _, wait := range waits {
			Expect(InterceptGomegaFailure(wait)).To(MatchError(ContainSubstring("it ended with 42")))
		}
		waits[0]()
	})

	It("is not run any more", func() { Expect(never()).To(BeZero()) })
})

func run(t *testing.T, how string) (output string, passed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, self, "-test.v", "-test.run=^TestExample$", "-specs.example="+how).CombinedOutput()
	return string(out), err == nil
}

func TestASuiteIsAbortedWhenItsProgramEnds(t *testing.T) {
	t.Parallel()
	out, passed := run(t, "dies")
	if passed {
		t.Error("it passed")
	}
	for _, want := range []string{"it ended with 42", "1 Passed", "1 Failed", "1 Skipped", "operator-1.log says", "The logs are kept in", "the last words"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	_, after, _ := strings.Cut(out, "The logs are kept in ")
	dir, _, _ := strings.Cut(after, " ")
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
	_ = os.Remove(filepath.Dir(dir)) // Unless another run left something.
	if t.Failed() {
		t.Log(out)
	}
}

func TestASuiteThatPassesLeavesNoLogs(t *testing.T) {
	t.Parallel()
	out, passed := run(t, "lives")
	if !passed || strings.Contains(out, "The logs are kept") || !strings.Contains(out, "3 Passed") {
		t.Error(out)
	}
}
