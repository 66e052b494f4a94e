// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
)

var _ = Describe("Of the AuthPolicy", func() {
	It("of a model each rule is missed by a case", func(ctx SpecContext) { judge(ctx, models()) }, SpecTimeout(targetTimeout))
	It("of maas-api each rule is missed by a case", func(ctx SpecContext) { judge(ctx, service()) }, SpecTimeout(targetTimeout))
	It("of a Gateway each rule is missed by a case", func(ctx SpecContext) {
		t := gateway()
		judge(ctx, t)
		judgeGatewayLimits(ctx, t)
	}, SpecTimeout(targetTimeout))
})

// judge takes each rule out of the target's policies. Those that nothing misses are
// failures, all told at the end.
func judge(ctx context.Context, t *target) {
	GinkgoHelper()
	t.read(ctx)
	t.apply(ctx)
	broken := t.failures(ctx, nil, 0)
	except := names(broken)
	var survivors []string
	for _, rule := range t.rules {
		line := row{policy: t.name, rule: rule}
		t.apply(ctx, rule)
		failed := t.failures(ctx, except, 1)
		if len(failed) == 0 {
			line.with, failed = t.withTwins(ctx, rule, except)
		}
		switch {
		case len(failed) > 0:
			f := failed[0]
			line.noticed, line.what, line.wanted, line.got = f.name, f.problem.What, f.problem.Want, f.problem.Got
		default:
			if line.equivalent = equivalent(t.name, rule); line.equivalent == "" {
				survivors = append(survivors, rule)
			}
			line.with = nil
		}
		results.add(line)
		GinkgoWriter.Printf("%s without %s (and %v): %s %s\n", t.name, rule, line.with, line.noticed, line.equivalent)
	}
	t.apply(ctx)
	Expect(names(t.failures(ctx, nil, 0))).To(Equal(except), "cases that fail with all of the rules, at the end")
	t.restore(ctx)
	Expect(broken).To(BeEmpty(), "cases that fail with all of the rules")
	Expect(survivors).To(BeEmpty(), "rules of "+t.name+" that nothing misses")
}

// passing are the failures of cases whose request was served.
func passing(all []failure) []failure {
	return slices.DeleteFunc(slices.Clone(all), func(f failure) bool { return f.problem.What != "status" || f.problem.Got != "200" })
}

// failure is a case that is not as it must be.
type failure struct {
	name    string
	problem cases.Problem
}

// failures runs the cases of the target, without some, until so many failed; 0: all.
func (t *target) failures(ctx context.Context, except []string, most int) []failure {
	GinkgoHelper()
	var failed []failure
	for _, c := range cases.All() {
		if c.At != t.at || !c.Holds(cases.DefaultTenant) || slices.Contains(except, c.Name) {
			continue
		}
		_, problems, err := c.Run(ctx, fixture.Default)
		Expect(err).NotTo(HaveOccurred())
		if len(problems) > 0 {
			failed = append(failed, failure{c.Name, problems[0]})
		}
		if most > 0 && len(failed) >= most {
			break
		}
	}
	return failed
}

// withTwins takes the rules out too that refuse the same requests for another reason.
// What is missed without those alone does not count.
func (t *target) withTwins(ctx context.Context, rule string, except []string) (with []string, failed []failure) {
	GinkgoHelper()
	with = twins(t.name, rule)
	if len(with) == 0 {
		return nil, nil
	}
	Expect(t.rules).To(ContainElements(with), "twins of %s", rule)
	t.apply(ctx, with...)
	known := names(t.failures(ctx, except, 0))
	t.apply(ctx, append(slices.Clone(with), rule)...)
	return with, t.failures(ctx, slices.Concat(except, known), 1)
}

func names(all []failure) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.name)
	}
	return out
}

// judgeGatewayLimits takes the Gateway's own limits away. While its AuthPolicy denies
// everything they have nothing to do; without that rule, nothing passes for them.
func judgeGatewayLimits(ctx context.Context, t *target) {
	GinkgoHelper()
	const deny = "authorization/deny-all"
	t.apply(ctx, deny)
	before := passing(t.failures(ctx, nil, 0))
	back := removeGatewayLimits(ctx)
	after := passing(t.failures(ctx, nil, 0))
	var more []failure
	for _, f := range after {
		if !slices.Contains(names(before), f.name) {
			more = append(more, f)
		}
	}
	// A model with limits of its own has none of the Gateway's, and one for nobody.
	Expect(names(before)).To(BeEmpty(), "requests that pass although limits let nothing pass of whose caller nothing is known")
	Expect(more).NotTo(BeEmpty(), "requests that pass when neither the policy nor the limits of the Gateway refuse them")
	f := more[0]
	results.add(row{policy: "gateway limits", rule: "deny-all-by-default", with: []string{deny}, noticed: f.name, what: f.problem.What, wanted: f.problem.Want, got: f.problem.Got})
	back(ctx)
	t.restore(ctx)
}
