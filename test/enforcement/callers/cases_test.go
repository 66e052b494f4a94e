// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
)

var _ = Describe("A tenant's gateway", func() {
	for _, which := range []cases.Which{cases.DefaultTenant, cases.RedTenant} {
		Describe("of "+string(which), func() {
			for _, group := range cases.Groups() {
				Describe(group.About, func() {
					for _, c := range group.Cases {
						if c.Holds(which) {
							It(title(c), func(ctx SpecContext) { run(ctx, c, which) }, SpecTimeout(specTimeout))
						}
					}
				})
			}
		})
	}
})

// run runs a case.
func run(ctx SpecContext, c cases.Case, which cases.Which) {
	GinkgoHelper()
	answer, problems, err := c.Run(ctx, fixture.Side(which))
	Expect(err).NotTo(HaveOccurred())
	Expect(problems).To(BeEmpty(), answer.String)
}

// title is the name of a case with its rows.
func title(c cases.Case) string {
	name := strings.ToValidUTF8(c.Name, "?")
	if len(c.Rows) == 0 {
		return name
	}
	return name + " (" + strings.Join(c.Rows, ", ") + ")"
}
