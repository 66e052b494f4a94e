// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/rights"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("The audit record", func() {
	It("is written for every change and every attempt, under names that say nothing (A79, no record in earlier releases)", func(ctx SpecContext) {
		owner, _ := member()
		foreign, _ := member()
		key := newKey(ctx, owner)
		do(ctx, foreign, "DELETE", keysPath+"/"+key.ID, nil)
		must(owner.Revoke(ctx, key.ID))
		boss, _ := admin(ctx)
		must(boss.BulkRevoke(ctx, object{"subscription": unique("nothing")}))
		must(boss.BulkRevoke(ctx, object{"subscription": unique("rehearsal"), "dryRun": true}))
		log := string(must(os.ReadFile(api.LogFile())))
		of := func(texts ...string) int {
			found := 0
			for line := range strings.SplitSeq(log, "\n") {
				hit := true
				for _, text := range texts {
					hit = hit && strings.Contains(line, text)
				}
				if hit {
					found++
				}
			}
			return found
		}
		id := `"audit.keyId":"` + key.ID + `"`
		Expect(of("AUDIT create", id, `"audit.result":"success"`, `"audit.actor":"sha256:`)).To(Equal(1))
		Expect(of("AUDIT revoke", id, `"audit.result":"denied"`)).To(Equal(1))
		Expect(of("AUDIT revoke", id, `"audit.result":"success"`)).To(Equal(1))
		Expect(of("AUDIT bulk-revoke", `"audit.targetSubscription":"sha256:`, `"audit.revokedCount":0`)).To(BeNumerically(">=", 1))
	})
})

// rarelyUsed tells whether this suite does not exercise a right: those to the TLS
// profile count on OpenShift only.
func rarelyUsed(r rights.Right) bool {
	return r.Group == "config.openshift.io" && r.Resource == "apiservers"
}

// What the whole suite did is judged at its end.
var _ = AfterSuite(func() {
	if on == nil || api == nil || stranger == nil {
		return
	}
	if suite, _ := GinkgoConfiguration(); len(suite.FocusStrings)+len(suite.SkipStrings) > 0 {
		return // Only a part of it ran.
	}
	By("looking for rights that were refused or not used", func() {
		events := must(on.Env.Audit().Events(audit.ByUser(service.Account().User())))
		var refused []audit.Event
		for _, e := range events {
			if e.Code == 403 && e.Namespace != "default" { // One spec asks for a Secret elsewhere.
				refused = append(refused, e)
			}
		}
		Expect(refused).To(BeEmpty())
		granted := must(rights.Granted(must(rights.Manifests("config/maas-api/rbac"))))
		Expect(slices.DeleteFunc(rights.Idle(granted, rights.Used(events)), rarelyUsed)).To(BeEmpty(), "granted, never used")
		Expect(must(on.Env.Audit().Writes(service.Account().User()))).To(BeEmpty(), "it asks and never writes")
	})
	By("looking for secrets and names in the logs", func() {
		Expect(on.Used.Len()).To(BeNumerically(">", 100))
		for _, file := range must(on.LogFiles()) {
			Expect(must(on.Used.Leaks(file))).To(BeEmpty(), file)
		}
	})
	By("looking for answers that the documents describe and nobody has seen", func() {
		Expect(on.Contract.Unseen(unreachable()...)).To(BeEmpty())
	})
})

// unreachable are answers that only a fault of this or another program brings
// about, which cannot be had from outside.
func unreachable() []string {
	return []string{
		"GET /v1/tenants 500", // One of two questions to the API server fails, or reading the Gateway does.
		"GET /v1/tenants 504", // The API server hangs just after it has answered both.
	}
}
