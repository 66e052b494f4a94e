// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("an operator with nothing to do", func() {
	const (
		long = 30 * time.Second
		// few is what looking after the namespaces once in that time takes.
		few = 10
	)

	It("writes nothing for three tenants and hardly asks (E-58, idle)", func(ctx SpecContext) {
		setUp(ctx, "idle-a", "idle-b")
		work(ctx, theDefault)
		rest(quiet)
		mark := now()
		requests := func() []audit.Event {
			events, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.Not(audit.ByVerb(audit.VerbWatch)))
			Expect(err).NotTo(HaveOccurred())
			return events
		}
		Consistently(writesAfter(mark), long, "1s").Should(BeEmpty())
		Expect(len(requests())).To(BeNumerically("<=", few), "%v", requests())
	})
})
