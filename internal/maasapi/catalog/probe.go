// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// drained is how much of an answer is read, so that its connection can be used
	// again. What it says does not matter.
	drained = 4 << 10
	// gatewayTimeout bounds the search for the gateway's address.
	gatewayTimeout = 2 * time.Second

	headerSubscription = "X-Maas-Subscription"
)

// prober asks models whether they let a caller in.
type prober struct {
	options    Options
	memory     *memory
	breakers   *breakers
	transports *transports
	slots      *semaphore.Weighted
	metrics    *metrics
	// sending counts the requests under way.
	sending atomic.Int64
	// lost tells that the gateway's address is not known, as far as was reported.
	lost atomic.Bool
}

// question is what one model is asked on behalf of a caller.
type question struct {
	url          *url.URL
	model        string
	subscription string
	credential   Credential
	// gateway is the address to ask at; empty when it is not known.
	gateway string
}

// ask fills in the verdicts on offers that need one.
func (p *prober) ask(ctx context.Context, found []offer, credential Credential) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	var gateway string
	searched := false
	var group errgroup.Group
	group.SetLimit(p.options.PerListing)
	for i := range found {
		o := &found[i]
		if o.candidate.ask == nil {
			o.verdict = verdict{outcomeAdmitted, p.options.Clock.Now()}
			continue
		}
		if !searched {
			gateway, searched = p.gateway(ctx), true
		}
		q := question{o.candidate.ask, o.candidate.model.OwnedBy, o.subscription.Name, credential, gateway}
		group.Go(func() error {
			o.verdict = p.verdict(ctx, q)
			return nil
		})
	}
	_ = group.Wait() // No check returns an error.
}

// gateway returns the gateway's address, or "" and says so once.
func (p *prober) gateway(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
	defer cancel()
	address, err := p.options.Gateway.GatewayAddress(ctx)
	lost := err != nil || address == ""
	if before := p.lost.Swap(lost); lost && !before {
		p.options.Log.WarnContext(ctx, "Leaving models out of listings: the address of the gateway is not known", "error", err)
	} else if !lost && before {
		p.options.Log.InfoContext(ctx, "Asking models again: the address of the gateway is known")
	}
	if lost {
		return ""
	}
	return address
}

// verdict answers a question from memory, or asks it. Who finds it being asked
// waits for that answer; if it comes to nothing, because the other's time was up,
// the question is asked again.
func (p *prober) verdict(ctx context.Context, q question) verdict {
	k := p.memory.mark(q.credential, q.model, q.subscription, q.url.String())
	for ctx.Err() == nil {
		v, known, a, first := p.memory.recall(k)
		if known {
			p.metrics.remembered.WithLabelValues(resultHit).Inc()
			return v
		}
		if first {
			p.metrics.remembered.WithLabelValues(resultMiss).Inc()
			return p.resolve(ctx, q, k, a)
		}
		select {
		case <-a.done:
			if a.verdict.outcome != outcomeCancelled {
				p.metrics.remembered.WithLabelValues(resultShared).Inc()
				return a.verdict
			}
		case <-ctx.Done():
		}
	}
	return verdict{outcomeCancelled, p.options.Clock.Now()}
}

// resolve asks a question that nobody else is asking. Whatever happens meanwhile, who
// waits for the answer is let go.
func (p *prober) resolve(ctx context.Context, q question, k mark, a *asking) (v verdict) {
	v.outcome = outcomeCancelled
	defer func() { p.memory.settle(k, a, v) }()
	result := p.tries(ctx, q)
	v = verdict{result, p.options.Clock.Now()}
	return v
}

// tries asks until there is an answer that will not change by asking again.
func (p *prober) tries(ctx context.Context, q question) outcome {
	if q.gateway == "" {
		return p.count(outcomeNoGateway)
	}
	pause := wait.Backoff{Duration: p.options.Pause, Factor: 2, Jitter: 0.1, Steps: p.options.Tries}
	for try := 1; ; try++ {
		result, again := p.try(ctx, q)
		if !again || try >= p.options.Tries {
			return result
		}
		timer := p.options.Clock.NewTimer(pause.Step())
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return p.count(outcomeCancelled)
		}
	}
}

// try asks once, when there is a slot and neither the model nor the gateway is
// left in peace.
func (p *prober) try(ctx context.Context, q question) (result outcome, again bool) {
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return p.count(outcomeCancelled), false
	}
	defer p.slots.Release(1)
	target := q.url.String()
	if !p.breakers.allow(q.gateway) || !p.breakers.allow(target) {
		return p.count(outcomeOpen), false
	}
	p.sending.Add(1)
	defer p.sending.Add(-1)
	start := p.options.Clock.Now()
	status, err := p.send(ctx, q)
	p.metrics.duration.Observe(p.options.Clock.Since(start).Seconds())
	result, again = judge(ctx, status, err)
	p.count(result)
	p.learn(ctx, q, target, result, err)
	p.options.Log.DebugContext(ctx, "Asking a model", "model", q.model, "result", string(result), "status", status, "error", err)
	return result, again
}

func (p *prober) count(result outcome) outcome {
	p.metrics.probes.WithLabelValues(string(result)).Inc()
	return result
}

// learn opens and closes breakers. That nobody waits any longer is no fault of
// the destination.
func (p *prober) learn(ctx context.Context, q question, target string, result outcome, err error) {
	var opened bool
	switch {
	case result == outcomeCancelled:
	case notConnected(err):
		opened = p.breakers.failed(q.gateway)
	case result.certain():
		p.breakers.succeeded(q.gateway)
		p.breakers.succeeded(target)
	default:
		p.breakers.succeeded(q.gateway)
		opened = p.breakers.failed(target)
	}
	if opened {
		p.options.Log.WarnContext(ctx, "Leaving a failing destination in peace", "model", q.model, "result", string(result), "gateway", notConnected(err))
	}
}

// send makes the one request of a try and returns the status.
func (p *prober) send(ctx context.Context, q question) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.options.TryTimeout, errTry)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url.String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header = http.Header{"User-Agent": {""}, headerSubscription: {q.subscription}}
	if q.credential.authorization != "" {
		r.Header["Authorization"] = []string{q.credential.authorization}
	} else {
		r.Header["X-Api-Key"] = []string{q.credential.apiKey}
	}
	// The transport itself: a client would follow redirects.
	response, err := p.transports.to(q.gateway).RoundTrip(r)
	if err != nil {
		return 0, tried(ctx, err)
	}
	// What follows a switch of protocols is a bare connection: no context ends its
	// reading.
	if response.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.CopyN(io.Discard, response.Body, drained) // An answer that breaks off was an answer.
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// errTry ends a try.
var errTry = errors.New("the model did not answer in time")

// tried returns errTry where that is why the request ended.
func tried(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTry) {
		return errTry
	}
	return err
}

// judge says what an answer means, and whether asking again may change it.
func judge(ctx context.Context, status int, err error) (result outcome, again bool) {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errTry):
		return outcomeTimeout, false
	case err != nil && ctx.Err() != nil:
		return outcomeCancelled, false
	case errors.As(err, &untrusted):
		return outcomeUntrusted, false
	case err != nil:
		return outcomeUnreachable, true
	case status >= 200 && status <= 299 || status == http.StatusMethodNotAllowed:
		return outcomeAdmitted, false
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return outcomeFailed, true
	default:
		return outcomeRefused, false
	}
}

// notConnected tells whether there was no connection to the gateway at all.
func notConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
