// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// gateway decides requests by the policies of a model that the API server holds
// at this moment; the limits may be absent.
func (w world) gateway(model types.NamespacedName) *enforced.Gateway {
	GinkgoHelper()
	policy := w.authPolicyOf(model)
	Expect(policy).NotTo(BeNil(), "the AuthPolicy of %s", model)
	return enforced.New(GinkgoT(), policy.Object["spec"].(map[string]any)["rules"].(map[string]any), w.limits(model)())
}

func with(base map[string]any, name string, value any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}
