// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
)

func many(n int) []*v1alpha1.MaaSModelRef {
	var models []*v1alpha1.MaaSModelRef
	for i := range n {
		models = append(models, model(fmt.Sprintf("m%03d", i)))
	}
	return models
}

func TestVerdictsAreRememberedForOneCredentialOnly(t *testing.T) {
	t.Parallel()
	w := gold(model("granite"))
	w.subscriptions = append(w.subscriptions, subscription("silver", w.models))
	as := func(change func(*catalog.Query)) catalog.Query {
		q := w.query()
		q.Subscription = "gold"
		if change != nil {
			change(&q)
		}
		return q
	}
	tests := map[string]struct {
		answer    int
		after     time.Duration
		second    func(*catalog.Query)
		remembers bool
	}{
		"an admission":                             {answer: 200, after: 9 * time.Second, remembers: true},
		"an admission is forgotten":                {answer: 200, after: 10 * time.Second},
		"a refusal":                                {answer: 403, after: time.Second, remembers: true},
		"a refusal is forgotten soon":              {answer: 403, after: 2 * time.Second},
		"not for another credential":               {answer: 200, second: func(q *catalog.Query) { q.Credential = catalog.NewCredential("Bearer "+secret+"2", "") }},
		"not for the same text in another header":  {answer: 200, second: func(q *catalog.Query) { q.Credential = catalog.NewCredential("", "Bearer "+secret) }},
		"not for another subscription":             {answer: 200, second: func(q *catalog.Query) { q.Subscription = "silver" }},
		"not for another URL of the model":         {answer: 200, second: func(q *catalog.Query) { q.Index = gold(model("granite", at("https://"+host+"/moved"))).index() }},
		"by the credential, whoever it belongs to": {answer: 200, second: func(q *catalog.Query) { q.Caller = tokenOf("bob") }, remembers: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := clocktesting.NewFakeClock(born)
			g := newGateway(t, map[string]http.HandlerFunc{"*": status(tc.answer)})
			c := newCatalog(t, g, func(o *catalog.Options) { o.Clock = fake })
			first := c.list(t, as(nil))
			fake.Step(tc.after)
			second := c.list(t, as(tc.second))
			if got := len(g.asked()) == 1; got != tc.remembers {
				t.Errorf("remembered: %v, want %v", got, tc.remembers)
			}
			if len(first.Models) != len(second.Models) {
				t.Errorf("%d models, then %d", len(first.Models), len(second.Models))
			}
			if tc.remembers && !second.CheckedAt.Equal(born) {
				t.Errorf("checked at %s, but the verdict is of %s", second.CheckedAt, born)
			}
			if got := c.counted(t, "maas_api_model_verdicts_total", "hit") == 1; got != tc.remembers {
				t.Errorf("a hit was counted: %v, want %v", got, tc.remembers)
			}
		})
	}
}

func tokenOf(username string) entitlement.Caller {
	c, err := entitlement.FromToken(username, []string{"team"})
	if err != nil {
		panic(err)
	}
	return c
}

func TestRememberedVerdictDoesNotOutliveTheEntitlement(t *testing.T) {
	t.Parallel()
	w := gold(model("granite"), model("llama"))
	g := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
	c := newCatalog(t, g)
	c.list(t, w.query())
	w.denied = "granite"
	if got := shown(c.list(t, w.query())); got != "complete llama=llm/llama(gold)" {
		t.Errorf("listing %q", got)
	}
}

func TestOneCallerAsksOnceAtATime(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	g := newGateway(t, map[string]http.HandlerFunc{"*": func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}})
	c, q := newCatalog(t, g), gold(model("granite")).query()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if got := ids(c.list(t, q)); got != "granite" {
				t.Errorf("listed %q", got)
			}
		})
	}
	<-arrived
	close(release)
	group.Wait()
	if got := len(g.asked()); got != 1 {
		t.Errorf("%d requests of ten listings at once, want 1", got)
	}
}

func TestCallerWhoIsGoneTakesNoVerdictFromOthers(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	g := newGateway(t, map[string]http.HandlerFunc{"*": func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}})
	c, q := newCatalog(t, g, func(o *catalog.Options) { o.OpenAfter = 1 }), gold(model("granite")).query()
	leaving, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if l, err := c.List(leaving, q); err != nil || shown(l) != "incomplete" {
			t.Errorf("who left has %q (%v)", shown(l), err)
		}
	})
	<-arrived
	group.Go(func() {
		if got := shown(c.list(t, q)); got != "complete granite=llm/granite(gold)" {
			t.Errorf("who stayed has %q", got)
		}
	})
	leave()
	<-arrived
	close(release)
	group.Wait()
}

// crowd counts who is there at once, and lets nobody go before enough have come.
type crowd struct {
	now, most atomic.Int64
	enough    int64
	full      chan struct{}
	once      sync.Once
}

func (c *crowd) serve(_ http.ResponseWriter, r *http.Request) {
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			break
		}
	}
	if now >= c.enough {
		c.once.Do(func() { close(c.full) })
	}
	<-c.full
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond) // For others to come too, if nothing keeps them.
	defer cancel()
	<-ctx.Done()
}

func TestModelsAreAskedAtOnceWithinBounds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(*catalog.Options)
		listings int
		want     int64
	}{
		"of one listing":  {func(o *catalog.Options) { o.PerListing = 4 }, 1, 4},
		"of all listings": {func(o *catalog.Options) { o.PerListing, o.InFlight = 4, 6 }, 3, 6},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := &crowd{enough: tc.want, full: make(chan struct{})}
			g := newGateway(t, map[string]http.HandlerFunc{"*": there.serve})
			c, w := newCatalog(t, g, tc.change), gold(many(15)...)
			for i, m := range w.models {
				m.Status.Endpoint = fmt.Sprintf("https://h%d.example.com/llm/%s", i, m.Name) // Not bounded by connections to one host.
			}
			w.subscriptions = append(w.subscriptions, subscription("silver", w.models)) // The bound is for all subscriptions together.
			var group sync.WaitGroup
			for i := range tc.listings {
				q := w.query()
				q.Credential = catalog.NewCredential(fmt.Sprintf("Bearer %s-%d", secret, i), "")
				group.Go(func() {
					if l := c.list(t, q); len(l.Models) != 15 {
						t.Errorf("%d models listed", len(l.Models))
					}
				})
			}
			group.Wait()
			if got := there.most.Load(); got != tc.want {
				t.Errorf("%d models asked at once, want %d", got, tc.want)
			}
			if got := c.counted(t, "maas_api_model_probes_in_flight", ""); got != 0 {
				t.Errorf("%v requests under way in the end", got)
			}
		})
	}
}

func TestListingEndsInTimeWhateverModelsDo(t *testing.T) {
	t.Parallel()
	silent := newGateway(t, map[string]http.HandlerFunc{"/llm/m000/v1/models": status(200), "*": hang})
	failing := newGateway(t, map[string]http.HandlerFunc{"/llm/m000/v1/models": status(200), "*": status(503)})
	tests := map[string]struct {
		gateway *gateway
		change  func(*catalog.Options)
	}{
		"models that do not answer":               {silent, func(o *catalog.Options) { o.TryTimeout = time.Minute }},
		"models that fail, with long pauses":      {failing, func(o *catalog.Options) { o.Pause = time.Minute }},
		"no slots, because others hold them":      {silent, func(o *catalog.Options) { o.TryTimeout, o.InFlight = time.Minute, 2 }},
		"a gateway whose address takes for ever ": {silent, func(o *catalog.Options) { o.Gateway = nowhere{} }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall := clock.RealClock{}
			c := newCatalog(t, tc.gateway, func(o *catalog.Options) { o.Timeout, o.PerListing = 300*time.Millisecond, 4 }, tc.change)
			w := gold(many(40)...)
			for _, name := range []string{"a", "b", "c", "d"} {
				w.subscriptions = append(w.subscriptions, subscription(name, w.models))
			}
			start := wall.Now()
			l := c.list(t, w.query())
			if took := wall.Since(start); took > 3*time.Second {
				t.Errorf("took %s with a bound of 300 ms", took)
			}
			if l.Check != catalog.CheckIncomplete {
				t.Errorf("check %q", l.Check)
			}
		})
	}
}

// nowhere looks for the gateway until it is told to stop.
type nowhere struct{}

func (nowhere) GatewayAddress(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestFailingModelIsLeftInPeaceAndOthersAreNot(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	g := newGateway(t, map[string]http.HandlerFunc{
		"/llm/good/v1/models": status(200),
		"/llm/bad/v1/models": func(w http.ResponseWriter, _ *http.Request) {
			if !healed.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	})
	fake := clocktesting.NewFakeClock(born)
	c := newCatalog(t, g, func(o *catalog.Options) { o.Clock, o.Tries, o.OpenAfter = fake, 1, 3 })
	w, n := gold(model("good"), model("bad")), 0
	list := func() string {
		q := w.query()
		n++
		q.Credential = catalog.NewCredential(fmt.Sprintf("Bearer %s-%d", secret, n), "")
		return shown(c.list(t, q))
	}
	for range 6 {
		if got := list(); got != "incomplete good=llm/good(gold)" {
			t.Errorf("listing %q", got)
		}
	}
	if got := len(g.asked()); got != 6+3 {
		t.Errorf("%d requests, want 6 of the good model and 3 of the bad one", got)
	}
	if got := c.counted(t, "maas_api_model_probe_breakers_open", ""); got != 1 {
		t.Errorf("%v breakers open, want 1", got)
	}
	healed.Store(true)
	fake.Step(10 * time.Second)
	for range 2 {
		if got := list(); got != "complete bad=llm/bad(gold) good=llm/good(gold)" {
			t.Errorf("listing after the rest: %q", got)
		}
	}
	if got := c.counted(t, "maas_api_model_probe_breakers_open", ""); got != 0 {
		t.Errorf("%v breakers open, want none", got)
	}
}

func BenchmarkList100Models(b *testing.B) {
	b.Run("policy only", func(b *testing.B) {
		c, q := newCatalog(b, nil, policyOnly, quiet), gold(many(100)...).query()
		b.ReportAllocs()
		for b.Loop() {
			if l := c.list(b, q); len(l.Models) != 100 {
				b.Fatal(shown(l))
			}
		}
	})
	g := newGateway(b, map[string]http.HandlerFunc{"*": status(200)})
	b.Run("verdicts remembered", func(b *testing.B) {
		c, q := newCatalog(b, g, quiet, func(o *catalog.Options) { o.AdmittedFor = time.Hour }), gold(many(100)...).query()
		c.list(b, q)
		b.ReportAllocs()
		for b.Loop() {
			if l := c.list(b, q); len(l.Models) != 100 {
				b.Fatal(shown(l))
			}
		}
	})
	b.Run("all models asked", func(b *testing.B) {
		c, q := newCatalog(b, g, quiet, func(o *catalog.Options) { o.AdmittedFor = time.Nanosecond }), gold(many(100)...).query()
		b.ReportAllocs()
		for b.Loop() {
			if l := c.list(b, q); len(l.Models) != 100 {
				b.Fatal(shown(l))
			}
			g.mu.Lock()
			g.requests = nil
			g.mu.Unlock()
		}
	})
}
