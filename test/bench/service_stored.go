// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/test/bench/load"
	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// What the project promises of a million keys; see docs/operations.
	aimOfLatency = 2
	// restingMemory and memoryOfKey bound what the program holds: with Go's default
	// of collecting garbage, twice what lives.
	restingMemory  = 96       // MiB
	memoryOfKey    = 2 * 0.36 // KiB
	defaultEntries = 250000

	// rateClients are enough for a rate not to wait for its own answers, and few
	// enough not to be a load of their own.
	rateClients = 64
	// rateWindows are measured apart: on a machine that does other work, the best of
	// them says more than all together.
	rateWindows = 10
	rateTime    = 2 * time.Second
	// restartShare of the rate is asked for while the database is restarted.
	restartShare = 5
	restartTime  = 20 * time.Second
	// gentle is a rate of keys that are used for the first time which a replica looks
	// up: it refuses more than 500 of them in a second.
	gentle = 300
)

// stored measures a replica beside very many keys: with the default bound of what it
// holds in memory, and with one that holds them all.
func stored(ctx context.Context, s *serving, out *Scenario) error {
	took, err := s.store(ctx, s.options.Service.Stored)
	if err != nil {
		return err
	}
	out.add("keys stored after", Seconds, took.Seconds())
	if err := s.publish(ctx, 0, usualSubscriptions); err != nil {
		return err
	}
	for _, bound := range []int{0, s.options.Service.Stored} {
		if err := s.within(ctx, out, bound); err != nil {
			return err
		}
	}
	return nil
}

// within measures with one bound; 0 is the default.
func (s *serving) within(ctx context.Context, out *Scenario, bound int) error {
	o := service.ReplicaOptions{Name: fmt.Sprintf("bound-%d", bound), TLS: true}
	name := "default bound: "
	entries := min(defaultEntries, s.options.Service.Stored)
	if bound > 0 {
		o.Args = append(o.Args, fmt.Sprintf("--key-cache-max-entries=%d", bound))
		name, entries = fmt.Sprintf("bound %d: ", bound), bound
	}
	r, err := s.stage.Replica(ctx, o)
	if err != nil {
		return err
	}
	s.say("%sstarting", name)
	began := time.Now()
	if err := r.Start(ctx); err != nil {
		return err
	}
	out.add(name+"ready after", Seconds, time.Since(began).Seconds())
	if err := s.stage.Settle(ctx, r); err != nil {
		return err
	}
	promise := restingMemory + float64(entries)*memoryOfKey/kibPerMiB
	if err := s.holds(ctx, out, name+"at rest", r, promise); err != nil {
		return err
	}
	if err := s.warm(ctx, r); err != nil {
		return err
	}
	// A request of a model is one turn: it is validated and its subscription selected.
	for _, share := range []float64{half, 1} {
		if err := s.paced(ctx, out, name, r, float64(s.options.Service.Rate)*share); err != nil {
			return err
		}
	}
	if err := s.holds(ctx, out, name+"under load", r, promise); err != nil {
		return err
	}
	if bound == s.options.Service.Stored {
		if err := s.restarted(ctx, out, name, r); err != nil {
			return err
		}
	}
	return r.Stop()
}

// restarted measures what becomes of keys in use when the database is restarted: all
// keys are then loaded anew.
func (s *serving) restarted(ctx context.Context, out *Scenario, name string, r *service.Replica) error {
	s.say("%srestarting the database under load", name)
	rate := float64(s.options.Service.Rate) / restartShare
	var took time.Duration
	result, err := load.Run(ctx, &load.Plan{
		Address: r.Address(), Protocol: load.HTTP1, Clients: rateClients, Rate: rate, Measure: restartTime, Tolerate: http.StatusInternalServerError,
		Turn: s.turnOf(askValidate, nil, nil),
		Begin: func() error {
			began := time.Now()
			err := s.stage.Postgres.Restart(ctx)
			took = time.Since(began)
			return err
		},
	})
	if err != nil {
		return err
	}
	if s.database, err = pgx.Connect(ctx, s.database.Config().ConnString()); err != nil {
		return fmt.Errorf("connect as administrator: %w", err)
	}
	const percent = 100
	failed := float64(len(result.Failures))
	name = fmt.Sprintf("%sdatabase restarted at %.0f validations/s: ", name, rate)
	out.add(name+"database gone for", Seconds, took.Seconds())
	out.add(name+"turned away", Percent, percent*failed/(failed+float64(result.Turns)))
	out.add(name+"first turned away after", Seconds, result.Failures.Quantile(0).Seconds())
	out.add(name+"last turned away after", Seconds, result.Failures.Quantile(1).Seconds())
	out.add(name+"p99 of the others", Millis, millis(result.Sent.Quantile(most)))
	return nil
}

// warm uses each key once that is in use, so slowly that a replica looks up those it
// does not hold.
func (s *serving) warm(ctx context.Context, r *service.Replica) error {
	s.say("using %d keys for the first time", s.options.Service.InUse)
	_, err := load.Run(ctx, &load.Plan{
		Address: r.Address(), Protocol: load.HTTP1, Clients: 4, Rate: gentle,
		Measure: time.Duration(float64(s.options.Service.InUse) / gentle * float64(time.Second)),
		Turn:    func(n int) []load.Request { return []load.Request{s.validation(n % s.options.Service.InUse)} },
	})
	return err
}

// paced measures turns at a rate.
func (s *serving) paced(ctx context.Context, out *Scenario, name string, r *service.Replica, rate float64) error {
	wished, err := selections(usualSubscriptions, true)
	if err != nil {
		return err
	}
	protocols := []load.Protocol{load.HTTP1, load.HTTP2}
	for i := range rateWindows * len(protocols) {
		protocol := protocols[i/rateWindows]
		if i%rateWindows == 0 {
			s.say("%s%.0f requests of models in a second, %s", name, rate, protocol)
		}
		result, used, err := s.under(ctx, r, &load.Plan{
			Address: r.Address(), Protocol: protocol, Clients: rateClients, Rate: rate, Warm: warmUp, Measure: rateTime,
			Turn: s.turnOf(askBoth, wished, nil),
		})
		if err != nil {
			return err
		}
		const percent, micros = 100, 1e6
		name := fmt.Sprintf("%s%.0f turns/s, %s: ", name, rate, protocol)
		out.add(name+"reached", Percent, percent*result.TurnsPerSecond()/rate)
		out.add(name+"p50", Millis, millis(result.Sent.Quantile(half)))
		out.add(name+"p99", Millis, millis(result.Sent.Quantile(most)), aimingAt(aimOfLatency))
		out.add(name+"p99 from when due", Millis, millis(result.Due.Quantile(most)))
		out.add(name+"processor time", Micros, used.seconds/float64(result.Turns)*micros)
		out.add(name+"processor", Percent, percent*used.seconds/rateTime.Seconds())
	}
	return nil
}

// holds records what the program holds.
func (s *serving) holds(ctx context.Context, out *Scenario, name string, r *service.Replica, promise float64) error {
	held, err := memoryOf(r.PID())
	if err != nil {
		return err
	}
	page, err := scrape.Get(ctx, r.MetricsURL())
	if err != nil {
		return err
	}
	out.add(name+": keys in memory", Objects, page.Sum("maas_api_key_index_entries"))
	out.add(name+": memory of the process", MiB, held.now, atMost(promise))
	out.add(name+": memory of the process, peak", MiB, held.peak)
	out.add(name+": heap in use", MiB, page.Sum("go_memstats_heap_inuse_bytes")/bytesPerMiB)
	return nil
}
