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
