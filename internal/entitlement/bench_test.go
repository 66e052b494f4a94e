// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"fmt"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// many are subscriptions on one model, each with an owner of its own.
func many(count int) entitlement.Facts {
	f := facts()
	for i := range count {
		s := sub(fmt.Sprintf("sub-%04d", i)).group(fmt.Sprintf("team-%04d", i))
		f.Subscriptions = append(f.Subscriptions, ours(s.MaaSSubscription))
	}
	return f
}

func BenchmarkSelect(b *testing.B) {
	for _, count := range []int{1, 100, 2000} {
		x := entitlement.NewIndex(tenant, many(count))
		groups := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", fmt.Sprintf("team-%04d", count/2)}
		c := member(b, groups...)
		for name, r := range map[string]entitlement.Request{
			"automatic": {Model: llama},
			"requested": {Model: llama, Subscription: fmt.Sprintf("sub-%04d", count/2)},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Select(c, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("refused/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Select(c, entitlement.Request{Model: llama, Subscription: "sub-none"}); err == nil {
					b.Fatal("an unknown subscription was selected")
				}
			}
		})
	}
}

// BenchmarkSelectOwnerOfAll is the worst caller: one who owns everything.
func BenchmarkSelectOwnerOfAll(b *testing.B) {
	f := many(2000)
	for _, s := range f.Subscriptions {
		s.Object.Spec.Owner.Groups = groupsOf(entitlement.AuthenticatedGroup)
	}
	x, c := entitlement.NewIndex(tenant, f), member(b)
	b.Run("inference", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Select(c, entitlement.Request{Model: llama}); codeOf(err) != entitlement.CodeMultipleSubscriptions {
				b.Fatal(err)
			}
		}
	})
	b.Run("key", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Mint(c, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("listing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if list, err := x.Visible(c, ""); err != nil || len(list) != 2000 {
				b.Fatal(len(list), err)
			}
		}
	})
}

func BenchmarkCaller(b *testing.B) {
	groups := []string{entitlement.AuthenticatedGroup, "data-scientists", "team-0001", "system:serviceaccounts", "a,b"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := entitlement.FromToken("alice", groups); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewIndex is a tenant of 1,000 models with five subscriptions each.
func BenchmarkNewIndex(b *testing.B) {
	f := entitlement.Facts{}
	for i := range 1000 {
		model := fmt.Sprintf("llm/model-%04d", i)
		f.Models = append(f.Models, ours(modelRef(model)))
		f.AuthPolicies = append(f.AuthPolicies, ours(grant(v1alpha1.Subjects{Groups: groupsOf("a", "b")}, model)))
		for j := range 5 {
			s := sub(fmt.Sprintf("sub-%04d-%d", i, j)).group(fmt.Sprintf("team-%04d", i)).model(model, rate(100, "1m"))
			f.Subscriptions = append(f.Subscriptions, ours(s.MaaSSubscription))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		entitlement.NewIndex(tenant, f)
	}
}
