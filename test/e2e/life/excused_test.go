// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/rights"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// excuse is a reason to hold rights that no life has to use.
type excuse struct {
	reason string
	rights []string
}

// excuses are all of them. A right that is neither needed nor listed here is one too
// many, and one that is listed here and not held is a mistake in the list.
func excuses() []excuse {
	return []excuse{
		{"counts an event that repeats", []string{"patch events.events.k8s.io", "patch events in " + testenv.OperatorNamespace}},
		{"owners that block deletion, where the API server asks for it", []string{
			"update externalmodels/finalizers.inference.opendatahub.io", "update externalmodels/finalizers.maas.opendatahub.io",
		}},
		{"rules of Prometheus itself, where no MonitoringStack is", []string{
			"create prometheusrules.monitoring.coreos.com", "delete prometheusrules.monitoring.coreos.com",
			"get prometheusrules.monitoring.coreos.com", "patch prometheusrules.monitoring.coreos.com",
		}},
		{"takes the host of a provider out of the mesh when the model moves to another", []string{
			"delete serviceentries.networking.istio.io", "get serviceentries.networking.istio.io",
		}},
		{"puts a role back that somebody changed", []string{
			"update clusterroles.rbac.authorization.k8s.io payload-processing-reader",
			"update clusterroles.rbac.authorization.k8s.io usage-collector-application-logs-write",
			"update clusterroles.rbac.authorization.k8s.io usage-tenancy-proxy-application-logs-read",
			"update clusterroles.rbac.authorization.k8s.io usage-tenancy-proxy-pods-log-read",
			"update clusterroles.rbac.authorization.k8s.io usage-tenancy-proxy-tokenreview",
		}},
	}
}

// excused are the rights that have an excuse.
func excused(held []rights.Right) []rights.Right {
	GinkgoHelper()
	var out []rights.Right
	for _, e := range excuses() {
		Expect(e.reason).NotTo(BeEmpty())
		for _, text := range e.rights {
			i := slices.IndexFunc(held, func(r rights.Right) bool { return r.String() == text })
			Expect(i).To(BeNumerically(">=", 0), "%q is excused and not held", text)
			out = append(out, held[i])
		}
	}
	return out
}

func texts(list []rights.Right) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.String())
	}
	return out
}
