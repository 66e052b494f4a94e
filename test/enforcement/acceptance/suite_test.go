// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acceptance shows that the real operator of Kuadrant accepts and enforces
// every policy that an installation with several tenants generates, on Kubernetes and
// on OpenShift, and keeps what it makes of them as golden files: the AuthConfigs for
// Authorino, the configuration of the gateways' filter and the limits for Limitador.
// What requests lead to under that configuration is judged elsewhere.
//
// The Pods of maas-api only pretend to run; issuers of tokens are real, because an
// Authorino reads them as soon as it learns of an AuthConfig.
package acceptance

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/stage"
)

const (
	// eventually is how long something may take on a busy machine.
	eventually = 3 * time.Minute
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
)

// binary is the operator's program.
var binary string

func TestAcceptance(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(eventually)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts() // A stage gives its context to everything that waits.
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "policies as the real Kuadrant takes them")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	binary, err = stage.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(startTimeout))

// must returns a value that was to be had without an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
