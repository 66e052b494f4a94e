// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"fmt"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// sizes are numbers of subscriptions of a tenant; each has five models with two
// limits, an owner of its own and an auth policy of its own.
var sizes = []int{20, 100, 500, 1000}

// crowd is a tenant with that many subscriptions, a fifth as many models and as many
// auth policies.
func crowd(count int) entitlement.Facts {
	f := of()
	models := max(5, count/5)
	for i := range models {
		f.Models = append(f.Models, of(model(fmt.Sprintf("model-%04d", i))).Models...)
	}
	for i := range count {
		var refs []string
		for j := range 5 {
			refs = append(refs, fmt.Sprintf("model-%04d", (i+j)%models))
		}
		team := []v1alpha1.GroupReference{{Name: fmt.Sprintf("team-%04d", i)}}
		s, p := sub(fmt.Sprintf("sub-%04d", i), refs...), grant(refs...)
		s.Spec.Owner.Groups, p.Spec.Subjects.Groups = team, team
		p.Name = s.Name
		more := of(s, p)
		f.Subscriptions, f.AuthPolicies = append(f.Subscriptions, more.Subscriptions...), append(f.AuthPolicies, more.AuthPolicies...)
	}
	return f
}

func BenchmarkAppendSelectReply(b *testing.B) {
	for _, count := range sizes {
		s := subscription.NewSnapshot(tenant, crowd(count), epoch)
		middle := fmt.Sprintf("%04d", count/2)
		c := alice(b, "a", "b", "c", "d", "e", "f", "g", "h", "team-"+middle)
		for name, r := range map[string]entitlement.Request{
			"automatic": {Model: fmt.Sprintf("llm/model-%04d", (count/2)%max(5, count/5))},
			"requested": {Model: fmt.Sprintf("llm/model-%04d", (count/2)%max(5, count/5)), Subscription: "sub-" + middle},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				reply := s.AppendSelectReply(nil, c, r)
				if got := object(b, reply); got["accessAllowed"] != true {
					b.Fatal(got)
				}
				b.ReportAllocs()
				for b.Loop() {
					reply = s.AppendSelectReply(reply[:0], c, r)
				}
			})
		}
	}
}

func BenchmarkNewSnapshot(b *testing.B) {
	for _, count := range append(sizes, 5000) {
		f := crowd(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				subscription.NewSnapshot(tenant, f, epoch)
			}
		})
	}
}
