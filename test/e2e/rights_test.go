// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// rarelyUsed are rights of the operator that the specs of this suite do not
// exercise, with the reason each is held. A right that is neither used nor
// listed here is one too many.
var rarelyUsed = map[string]string{
	"kuadrant.io/authpolicies create":             "an apply that creates needs it, and is logged as a patch",
	"kuadrant.io/authpolicies get":                "reads past the cache after a conflict",
	"kuadrant.io/tokenratelimitpolicies create":   "an apply that creates needs it, and is logged as a patch",
	"kuadrant.io/tokenratelimitpolicies get":      "reads past the cache after a conflict",
	"events.k8s.io/events patch":                  "counts an event that repeats",
	"config.openshift.io/authentications get":     "the token audience, on OpenShift only",
	"maas.opendatahub.io/maasauthpolicies patch":  "removes the finalizer of an earlier release",
	"maas.opendatahub.io/maassubscriptions patch": "removes the finalizer of an earlier release",
	"kuadrant.io/authpolicies update":             "takes over what another manager owns in a policy",
	"kuadrant.io/tokenratelimitpolicies update":   "takes over what another manager owns in a policy",
}

func right(group, resource, verb string) string { return group + "/" + resource + " " + verb }

// grantedRights expands the operator's ClusterRole.
func grantedRights() []string {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "config", "rbac", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var role rbacv1.ClusterRole
	Expect(yaml.UnmarshalStrict(raw, &role)).To(Succeed())
	var out []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					Expect([]string{group, resource, verb}).NotTo(ContainElement("*"), "a wildcard right")
					out = append(out, right(group, resource, verb))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
