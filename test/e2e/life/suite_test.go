// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package life takes the operator's own program, under its own ServiceAccount, through
// the whole life of an installation, on Kubernetes and then on OpenShift, and compares
// the rights it used and granted with those it holds. What each step leads to is judged
// elsewhere; here it only has to happen.
package life

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestLife(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(90 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "the life of an installation")
}

// startTimeout is generous: with a cold cache it compiles the operator.
const startTimeout = 20 * time.Minute

var on *stage.Stage

// The operator runs with the arguments of its Deployment, webhooks and leader election
// included, but for addresses.
var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Tenants: true, Controllers: true, WithoutOperator: true, Log: GinkgoWriter,
		CRDs: []testenv.CRDSet{
			testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.Istio, testenv.KServe, testenv.CertManager,
			testenv.Prometheus, testenv.Perses, testenv.OpenTelemetry, testenv.Stacks,
		},
		Env: []string{
			"RELATED_IMAGE_ODH_MAAS_API_IMAGE=registry.example.com/maas-api:tested",
			"RELATED_IMAGE_ODH_AI_GATEWAY_PAYLOAD_PROCESSING_IMAGE=registry.example.com/payload-processing:tested",
		},
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)}},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	webhooks, err := testenv.FreeAddress(ctx)
	Expect(err).NotTo(HaveOccurred())
	certificates, err := on.Env.InstallWebhooks(ctx, webhooks)
	Expect(err).NotTo(HaveOccurred())
	on.Operator.Configure("--leader-elect=true", "--enable-webhooks=true", "--webhook-bind-address="+webhooks, "--webhook-cert-dir="+certificates)
}, NodeTimeout(startTimeout))
