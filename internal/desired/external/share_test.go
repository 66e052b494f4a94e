// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "llm-" + name, Name: name}
}

// claim is one of a model that many seconds old ago came to be.
func claim(name string, second int, change ...func(*external.Claim)) external.Claim {
	c := external.Claim{
		Model: key(name), Created: time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC),
		Provider: external.Provider{Host: "api.example.com", Port: 443, TLS: true}, Target: "gpt-4o", Governed: true,
	}
	for _, edit := range change {
		edit(&c)
	}
	return c
}

func leaving(c *external.Claim) { c.Leaving = true }

func at(port int32, tls bool) func(*external.Claim) {
	return func(c *external.Claim) { c.Provider.Port, c.Provider.TLS = port, tls }
}

func elsewhere(c *external.Claim) { c.Provider.Host, c.Target = "other.example.com", "other" }

func TestTheOldestThatStaysHoldsWhatIsShared(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claims []external.Claim
		want   string
	}{
		"one":                     {[]external.Claim{claim("a", 1)}, "a"},
		"the older":               {[]external.Claim{claim("a", 2), claim("b", 1)}, "b"},
		"the first by name":       {[]external.Claim{claim("b", 1), claim("a", 1)}, "a"},
		"not one that leaves":     {[]external.Claim{claim("a", 1, leaving), claim("b", 2)}, "b"},
		"one that leaves, alone":  {[]external.Claim{claim("a", 1, leaving)}, "a"},
		"not one of another host": {[]external.Claim{claim("a", 1, elsewhere), claim("b", 2)}, "b"},
		"none":                    {[]external.Claim{claim("a", 1, elsewhere)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holder, ok := external.Holder("api.example.com", tc.claims)
			if ok != (tc.want != "") || holder.Model.Name != tc.want {
				t.Errorf("Holder() = %s, %t, want %q", holder.Model, ok, tc.want)
			}
			addressee, ok := external.Addressee("gpt-4o", tc.claims)
			if ok != (tc.want != "") || addressee.Model.Name != tc.want {
				t.Errorf("Addressee() = %s, %t, want %q", addressee.Model, ok, tc.want)
			}
		})
	}
}

// W-09: who may create ExternalModels gets no requests that are meant for another model,
// and keeps nobody from them.
func TestItTakesAPolicyToBeReachedByATarget(t *testing.T) {
	t.Parallel()
	ungoverned := func(c *external.Claim) { c.Governed = false }
	had := func(c *external.Claim) { c.Governed, c.Addressed = false, true }
	has := func(c *external.Claim) { c.Addressed = true }
	for name, tc := range map[string]struct {
		claims []external.Claim
		want   string
	}{
		"nobody governed":                  {[]external.Claim{claim("a", 1, ungoverned)}, ""},
		"an older one that is not":         {[]external.Claim{claim("a", 1, ungoverned), claim("b", 2)}, "b"},
		"one that had them, alone":         {[]external.Claim{claim("a", 1, had)}, "a"},
		"one that had them, and who never": {[]external.Claim{claim("a", 1, ungoverned), claim("b", 2, had)}, "b"},
		"one that is, and one that was":    {[]external.Claim{claim("a", 1, had), claim("b", 2)}, "b"},
		"one that had them, and who goes":  {[]external.Claim{claim("a", 1, leaving), claim("b", 2, had)}, "b"},
		"who has them, and who is older":   {[]external.Claim{claim("a", 1), claim("b", 2, has)}, "b"},
		"two that have them":               {[]external.Claim{claim("b", 2, has), claim("a", 1, has)}, "a"},
	} {
		addressee, ok := external.Addressee("gpt-4o", tc.claims)
		if ok != (tc.want != "") || addressee.Model.Name != tc.want {
			t.Errorf("%s: Addressee() = %s, %t, want %q", name, addressee.Model, ok, tc.want)
		}
	}
}

func TestPortsAreTheUnionAndTLSWins(t *testing.T) {
	t.Parallel()
	claims := []external.Claim{
		claim("a", 1, at(8080, false)), claim("b", 2, at(443, true)), claim("c", 3, at(443, false)), claim("d", 4, at(80, false)), claim("e", 5, at(1, true), elsewhere),
	}
	want := []external.Port{{Number: 80}, {Number: 443, TLS: true}, {Number: 8080}}
	if diff := cmp.Diff(want, external.Ports("api.example.com", claims)); diff != "" {
		t.Errorf("Ports() (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		provider external.Provider
		want     bool
	}{
		"asks for it":             {external.Provider{Host: "api.example.com", Port: 8080, TLS: true}, true},
		"gets it":                 {external.Provider{Host: "api.example.com", Port: 443}, true},
		"on a port without":       {external.Provider{Host: "api.example.com", Port: 8080}, false},
		"on a host of its own":    {external.Provider{Host: "third.example.com", Port: 443}, false},
		"of another host's port":  {external.Provider{Host: "other.example.com", Port: 443}, false},
		"of another host with it": {external.Provider{Host: "other.example.com", Port: 1}, true},
	} {
		if got := external.Secure(tc.provider, claims); got != tc.want {
			t.Errorf("%s: Secure() = %t, want %t", name, got, tc.want)
		}
	}
}

// However the cluster lists models, all of them come to the same result: exactly one
// holds each host.
func TestOneModelHoldsAHostInEveryOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, names := []string{"a.example.com", "b.example.com"}, []string{"x", "y", "z", "zz"}
		var claims []external.Claim
		for _, name := range names {
			claims = append(claims, claim(name, rapid.IntRange(0, 2).Draw(t, "age"), func(c *external.Claim) {
				c.Provider = external.Provider{Host: rapid.SampledFrom(hosts).Draw(t, "host"), Port: rapid.Int32Range(1, 2).Draw(t, "port"), TLS: rapid.Bool().Draw(t, "tls")}
				c.Leaving = rapid.Bool().Draw(t, "leaving")
			}))
		}
		for _, host := range hosts {
			reversed := slices.Clone(claims)
			slices.Reverse(reversed)
			one, ok := external.Holder(host, claims)
			other, same := external.Holder(host, reversed)
			if ok != same || one.Model != other.Model {
				t.Fatalf("Holder(%s) = %s in one order and %s in another", host, one.Model, other.Model)
			}
			if diff := cmp.Diff(external.Ports(host, claims), external.Ports(host, reversed)); diff != "" {
				t.Fatalf("Ports(%s) depend on the order:\n%s", host, diff)
			}
			holding := 0
			for _, c := range claims {
				out := external.Build(external.Input{Model: c.Model, Provider: c.Provider, Target: c.Target, Claims: claims})
				if out.ServiceEntry != nil && c.Provider.Host == host {
					holding++
				}
			}
			if ok && holding != 1 || !ok && holding != 0 {
				t.Fatalf("%d models hold %s", holding, host)
			}
		}
	})
}
