// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// life is a model over time: subscriptions come, change and go, and what was
// built last is what the cluster holds.
type life struct {
	subscriptions map[string]model.Subscription
	written       []values.TokenLimit
	born          int
	// settled are the subscriptions whose rates did not change since the last
	// build.
	settled map[string]bool
}

// ratesOfALife are few, so that subscriptions meet; two of them differ only in
// how the window is written.
func ratesOfALife() []v1alpha1.ModelSubscription {
	of := func(rates ...v1alpha1.TokenRateLimit) v1alpha1.ModelSubscription {
		return v1alpha1.ModelSubscription{TokenRateLimits: rates}
	}
	return []v1alpha1.ModelSubscription{
		of(rate(100, "1m")), of(rate(100, "60s")), of(rate(10, "1m"), rate(9, "1m")), of(rate(9, "1m")), {Unlimited: true},
	}
}

func (l *life) create(t *rapid.T) {
	l.born++
	name := fmt.Sprintf("s%d", rapid.IntRange(0, 9).Draw(t, "name"))
	if _, taken := l.subscriptions[name]; taken {
		return
	}
	identity := rapid.SampledFrom([]v1alpha1.RateLimitIdentity{v1alpha1.RateLimitIdentityShort, v1alpha1.RateLimitIdentityLegacy}).Draw(t, "identity")
	s := subscription(name, rapid.SampledFrom(ratesOfALife()).Draw(t, "rates"), identity)
	s.Object.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(l.born) * time.Second))
	l.subscriptions[name] = s
}

func (l *life) pick(t *rapid.T) string {
	if len(l.subscriptions) == 0 {
		t.Skip("nobody is there") // Of rapid: it draws another action; the test goes on.
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(l.subscriptions))).Draw(t, "which")
}

func (l *life) remove(t *rapid.T) {
	name := l.pick(t)
	delete(l.subscriptions, name)
	delete(l.settled, name)
}

func (l *life) change(t *rapid.T) {
	name := l.pick(t)
	entry := rapid.SampledFrom(ratesOfALife()).Draw(t, "rates")
	entry.Namespace, entry.Name = llm.Namespace, llm.Name
	s := l.subscriptions[name]
	s.Object = s.Object.DeepCopy()
	if !cmp.Equal(s.Object.Spec.ModelRefs[0], entry) {
		delete(l.settled, name)
	}
	s.Object.Spec.ModelRefs[0] = entry
	l.subscriptions[name] = s
}

func (l *life) input(t *rapid.T) model.Input {
	in := input()
	in.Subscriptions = rapid.Permutation(slices.Collect(maps.Values(l.subscriptions))).Draw(t, "order")
	var names []string
	for name := range l.subscriptions {
		names = append(names, tenantNamespace+"/"+name)
	}
	in.Live = lives(l.written, names)
	return in
}

// lives is how limits look once they are in the cluster.
func lives(written []values.TokenLimit, names []string) model.Live {
	slices.Sort(names)
	live := model.Live{Subscriptions: strings.Join(names, ",")}
	for _, limit := range written {
		live.Limits = append(live.Limits, kuadrant.Limit{Name: limit.Name, Predicate: limit.Predicate})
	}
	return live
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// holders maps the ids in the predicates to the names of their limits. An id in
// two limits, or a predicate of two limits, fails the test.
func holders(t *rapid.T, written []values.TokenLimit) map[string]string {
	out, predicates := map[string]string{}, map[string]string{}
	for _, limit := range written {
		if other, taken := predicates[limit.Predicate]; taken {
			t.Fatalf("limits %s and %s have the predicate %s", other, limit.Name, limit.Predicate)
		}
		predicates[limit.Predicate] = limit.Name
		for _, match := range quoted.FindAllStringSubmatch(limit.Predicate, -1) {
			if other, taken := out[match[1]]; taken && match[1] != "/v1/models" && match[1] != "GET" {
				t.Fatalf("limits %s and %s both hold %s", other, limit.Name, match[1])
			}
			out[match[1]] = limit.Name
		}
	}
	return out
}

func idOf(s model.Subscription) string {
	id := tenantNamespace + "/" + s.Object.Name + "@" + reference
	if s.Object.Status.RateLimitIdentity == v1alpha1.RateLimitIdentityShort {
		return entitlement.ShortID(id)
	}
	return id
}

// build writes the limits and looks at what became of those that lived.
func (l *life) build(t *rapid.T) {
	out, err := model.Build(l.input(t))
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	var written []values.TokenLimit
	if out.TokenRateLimitPolicy != nil {
		written = out.TokenRateLimitPolicy.Limits
	}
	before, now := holders(t, l.written), holders(t, written)
	names := map[string]bool{}
	for _, limit := range written {
		if names[limit.Name] {
			t.Fatalf("two limits are named %s", limit.Name)
		}
		names[limit.Name] = true
	}
	for name, s := range l.subscriptions {
		limit, held := now[idOf(s)]
		if !held {
			t.Fatalf("subscription %s has no limit", name)
		}
		set, err := entitlement.RateSetOf(&s.Object.Spec.ModelRefs[0])
		if err != nil || !strings.HasPrefix(limit, set.Name) {
			t.Fatalf("subscription %s of %s is in limit %s", name, set.Name, limit)
		}
		if l.settled[name] && before[idOf(s)] != limit {
			t.Fatalf("the quota of subscription %s moves from limit %s to %s and starts again", name, before[idOf(s)], limit)
		}
		l.settled[name] = true
	}
	l.written = written
	again, err := model.Build(l.input(t))
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	if diff := cmp.Diff(out, again); diff != "" {
		t.Fatalf("what was built is not what is built then (-first +again):\n%s", diff)
	}
}

// TestLimitsOverALifetime: whatever happens to the subscriptions of a model,
// each always has exactly one limit, no two limits hold for one request or look
// alike, and nobody's quota starts again because of what others do.
func TestLimitsOverALifetime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &life{subscriptions: map[string]model.Subscription{}, settled: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"create": l.create, "create another": l.create, "remove": l.remove, "change": l.change, "": l.build,
		})
	})
}
