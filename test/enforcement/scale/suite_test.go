// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scale measures what the real operator of Kuadrant makes of many models behind
// one gateway: how large the objects are that hold the configuration of all of them,
// and how long it takes until everything is enforced. Times are reported and not
// judged, because they are those of the machine; the size of a model is.
//
// The Pods of maas-api only pretend to run, and nothing is sent through the gateway.
package scale

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/stage"
)

var (
	models = numbers{10, 50}
	paths  = flag.Int("scale.paths", len(servedBelow()), "number of paths in the route of a model, at most as many as KServe's routes have")
)

func init() {
	flag.Var(&models, "scale.models", "numbers of models, growing")
}

const (
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
	// growTimeout is how long any number of models may take.
	growTimeout = 40 * time.Minute
	// ownTimeout is how long what concerns one model may take on a busy machine.
	ownTimeout = 5 * time.Minute
)

// binary is the operator's program.
var binary string

func TestScale(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(ownTimeout)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts() // A stage gives its context to everything that waits.
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "many models behind one gateway")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	binary, err = stage.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(startTimeout))

// numbers is a flag: numbers that grow, with commas between them.
type numbers []int

func (n *numbers) String() string { return strings.Trim(fmt.Sprint([]int(*n)), "[]") }

func (n *numbers) Set(text string) error {
	*n = nil
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(part)
		if err != nil || number < 1 {
			return fmt.Errorf("%q is not a number of models", part)
		}
		*n = append(*n, number)
	}
	if !slices.IsSorted(*n) {
		return fmt.Errorf("%v do not grow", *n)
	}
	return nil
}

// must returns a value that was to be had without an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
