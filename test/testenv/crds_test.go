// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

var _ = Describe("Installing CRDs", func() {
	// One instance for all sets, and none of the specs with controllers: an
	// installed API changes what platform this seems to be.
	It("serves every kind of every set when it returns, also a second time", func(ctx SpecContext) {
		env := startInstance(testenv.Options{})
		Expect(env.InstallCRDs(ctx, testenv.CRDSets()...)).To(Succeed())
		mapper := clientFor(env.AdminConfig()).RESTMapper()
		for _, kind := range []schema.GroupKind{
			{Group: "maas.opendatahub.io", Kind: "MaaSSubscription"},
			{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
			{Group: "kuadrant.io", Kind: "AuthPolicy"},
			{Group: "kuadrant.io", Kind: "TokenRateLimitPolicy"},
			{Group: "extensions.kuadrant.io", Kind: "TelemetryPolicy"},
			{Group: "authorino.kuadrant.io", Kind: "AuthConfig"},
			{Group: "operator.authorino.kuadrant.io", Kind: "Authorino"},
			{Group: "limitador.kuadrant.io", Kind: "Limitador"},
			{Group: "networking.istio.io", Kind: "EnvoyFilter"},
			{Group: "serving.kserve.io", Kind: "LLMInferenceService"},
			{Group: "inference.networking.k8s.io", Kind: "InferencePool"},
			{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"},
			{Group: "config.openshift.io", Kind: "Authentication"},
			{Group: "route.openshift.io", Kind: "Route"},
			{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"},
			{Group: "cert-manager.io", Kind: "Certificate"},
		} {
			_, err := mapper.RESTMapping(kind)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(env.InstallCRDs(ctx, testenv.GatewayAPI)).To(Succeed())
	})

	It("takes single files", func(ctx SpecContext) {
		env := startInstance(testenv.Options{})
		file := filepath.Join(testenv.RepoRoot(), "config", "crd", "bases", "maas.opendatahub.io_maasmodelrefs.yaml")
		Expect(env.InstallCRDFiles(ctx, file)).To(Succeed())
		mapper := clientFor(env.AdminConfig()).RESTMapper()
		_, err := mapper.RESTMapping(schema.GroupKind{Group: "maas.opendatahub.io", Kind: "MaaSModelRef"})
		Expect(err).NotTo(HaveOccurred())
		_, err = mapper.RESTMapping(schema.GroupKind{Group: "maas.opendatahub.io", Kind: "MaaSSubscription"})
		Expect(meta.IsNoMatchError(err)).To(BeTrue(), "got %v", err)
	})

	It("says which set does not exist", func(ctx SpecContext) {
		Expect(shared.InstallCRDs(ctx, "nonesuch")).To(MatchError(ContainSubstring("nonesuch")))
	})
})
