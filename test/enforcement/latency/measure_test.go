// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/opendatahub-io/maas-operator/test/bench/load"
	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
)

// The kinds of answers that are measured.
const (
	// alone is Authorino alone: the policy asks nobody.
	alone = "Authorino alone"
	// warm is the model's policy with a key that Authorino was asked about a moment ago,
	// cold with one that it never was.
	warm = "warm"
	cold = "cold"
	// unknown is cold, and maas-api does not hold the key either.
	unknown = "cold, key not held"
)

// warmUp is what does not count of a measurement: connections are made in it.
const warmUp = 200 * time.Millisecond

// spent is what the programs have done so far.
type spent struct {
	// validations and selections are questions that maas-api answered well, refusals
	// those that it did not. lookUps are keys that it asked the database for.
	validations, selections, refusals, lookUps float64
	// authorino and maasAPI are seconds of the processor.
	authorino, maasAPI float64
}

func (p *prepared) spent(ctx context.Context) (spent, error) {
	const processor = "process_cpu_seconds_total"
	ours, err := p.MaaSAPIMetrics(ctx)
	if err != nil {
		return spent{}, err
	}
	theirs, err := scrape.Get(ctx, p.Authorino.Metrics)
	if err != nil {
		return spent{}, err
	}
	const validated, selected = "maas_api_key_validation_total", "maas_api_subscription_select_total"
	s := spent{
		validations: ours.Sum(validated, `"valid"`), selections: ours.Sum(selected, `"selected"`),
		lookUps: ours.Sum("maas_api_key_index_lookups_total"), authorino: theirs.Sum(processor), maasAPI: ours.Sum(processor),
	}
	s.refusals = ours.Sum(validated) + ours.Sum(selected) - s.validations - s.selections
	return s, nil
}

func (s spent) minus(o spent) spent {
	return spent{
		validations: s.validations - o.validations, selections: s.selections - o.selections, refusals: s.refusals - o.refusals,
		lookUps: s.lookUps - o.lookUps, authorino: s.authorino - o.authorino, maasAPI: s.maasAPI - o.maasAPI,
	}
}

func (s spent) plus(o spent) spent { return s.minus(spent{}.minus(o)) }

// figures are what came of measurements of one kind.
type figures struct {
	kind    string
	clients int
	// asked are all requests, also those that did not count, failed those that were
	// refused, spent what all of them took.
	asked, failed int
	spent         spent
	times         load.Latencies
	elapsed       time.Duration
}

func (f *figures) add(o *figures) {
	f.asked += o.asked
	f.failed += o.failed
	f.spent = f.spent.plus(o.spent)
	f.times = append(f.times, o.times...)
	f.elapsed += o.elapsed
}

// run asks for so long, at a rate unless it is 0.
func (p *prepared) run(ctx context.Context, kind string, clients int, rate float64) (*figures, error) {
	plan := &load.Plan{
		Address: p.Authorino.GRPC, Protocol: load.GRPC, Clients: clients, Rate: rate, Warm: warmUp, Measure: *measure,
	}
	if kind == unknown {
		plan.Tolerate = http.StatusOK // A look-up that takes longer than 150 ms is given up.
	}
	first := p.next
	p.next++
	var asked atomic.Int64
	switch kind {
	case alone:
		plan.Turn = always(&asked, check(p.request(p.alone.Model, first), p.alone.scope, headerOfAlone))
	case warm:
		plan.Turn = always(&asked, p.ofModel(first))
		// Of a key that was not used yet: what is remembered must not be over while it is
		// measured.
		if err := p.remember(ctx, &asked, plan.Turn); err != nil {
			return nil, err
		}
	default:
		plan.Turn = func(int) []load.Request { return []load.Request{p.ofModel(first + int(asked.Add(1)) - 1)} }
	}
	before, err := p.spent(ctx)
	if err != nil {
		return nil, err
	}
	result, err := load.Run(ctx, plan)
	if kind == cold || kind == unknown {
		p.next = first + int(asked.Load())
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %d clients, up to %d of %d keys used: %w", kind, clients, p.next, p.stored, err)
	}
	after, err := p.spent(ctx)
	if err != nil {
		return nil, err
	}
	return &figures{
		kind: kind, clients: clients, asked: int(asked.Load()), failed: len(result.Failures),
		spent: after.minus(before), times: result.Sent, elapsed: result.Elapsed,
	}, nil
}

// ofModel asks about the model with a key.
func (p *prepared) ofModel(key int) load.Request {
	return check(p.request(p.model.Model, key), p.model.scope, headerOfModel)
}

// always asks the same, and counts how often.
func always(asked *atomic.Int64, r load.Request) func(int) []load.Request {
	same := []load.Request{r}
	return func(int) []load.Request {
		asked.Add(1)
		return same
	}
}

// remember has Authorino ask about what it will be asked itself; that does not count.
func (p *prepared) remember(ctx context.Context, asked *atomic.Int64, turn func(int) []load.Request) error {
	for asked.Load() == 0 { // A busy machine may begin when the time is over.
		plan := &load.Plan{Address: p.Authorino.GRPC, Protocol: load.GRPC, Clients: 1, Measure: 20 * time.Millisecond, Turn: turn}
		if _, err := load.Run(ctx, plan); err != nil {
			return fmt.Errorf("have Authorino remember: %w", err)
		}
	}
	asked.Store(0)
	return nil
}
