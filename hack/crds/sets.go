// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// set is the CRDs of one product: files of one or more modules. Versions are
// those that go.mod requires.
type set struct {
	name  string
	files []source
}

// source is a group of files in a module, as patterns of path/filepath.Match.
type source struct {
	module   string
	patterns []string
}

// sets lists all products. What the operator never touches is left out where a
// module has many CRDs: each costs every suite a part of its start.
func sets() []set {
	return []set{
		// The standard channel, because that is what clusters carry: a field that
		// exists only in the experimental one would pass here and be dropped there.
		{"gateway-api", []source{{"sigs.k8s.io/gateway-api", []string{"config/crd/standard/*.yaml"}}}},
		{"kuadrant", []source{{"github.com/kuadrant/kuadrant-operator", []string{"config/crd/bases/*.yaml"}}}},
		{"authorino", []source{
			// Not install/manifests.yaml: that adds a conversion webhook.
			{"github.com/kuadrant/authorino", []string{"install/crd/authorino.kuadrant.io_authconfigs.yaml"}},
			{"github.com/kuadrant/authorino-operator", []string{"config/crd/bases/*.yaml"}},
		}},
		{"limitador", []source{{"github.com/kuadrant/limitador-operator", []string{"config/crd/bases/*.yaml"}}}},
		// Complete: kuadrant-operator takes Istio for installed only if it is.
		{"istio", []source{{"istio.io/api", []string{"kubernetes/customresourcedefinitions.gen.yaml"}}}},
		// Of KServe only the kind that a MaaSModelRef can name.
		{"kserve", []source{{"github.com/kserve/kserve", []string{
			"config/crd/full/llmisvc/serving.kserve.io_llminferenceservices.yaml",
		}}}},
		{"inference-extension", []source{{"sigs.k8s.io/gateway-api-inference-extension", []string{"config/crd/bases/*.yaml"}}}},
		{"prometheus", []source{{"github.com/prometheus-operator/prometheus-operator", []string{
			"example/prometheus-operator-crd/*_podmonitors.yaml",
			"example/prometheus-operator-crd/*_prometheusrules.yaml",
			"example/prometheus-operator-crd/*_servicemonitors.yaml",
		}}}},
		// The default feature set, not the variants of previews.
		{"openshift", []source{{"github.com/openshift/api", []string{
			"config/v1/zz_generated.crd-manifests/*_apiservers-Default.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_authentications-Default.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_clusterversions-Default.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_dnses.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_infrastructures-Default.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_ingresses.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_proxies.crd.yaml",
			"route/v1/zz_generated.crd-manifests/routes.crd.yaml",
		}}}},
		{"olm", []source{{"github.com/operator-framework/operator-lifecycle-manager", []string{"deploy/chart/crds/*.yaml"}}}},
	}
}
