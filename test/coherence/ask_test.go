// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/opendatahub-io/maas-operator/test/service"
)

// outcome is what came of asking a replica about a key.
type outcome string

const (
	accepted outcome = "accepted"
	refused  outcome = "refused"
	// failed: the replica says that it cannot tell.
	failed outcome = "failed"
	// unheard: there was no answer in time.
	unheard outcome = "unheard"
)

// askTimeout is more than any answer may take, however busy the machine is.
const askTimeout = 5 * time.Second

// sight is one answer.
type sight struct {
	asked, answered time.Time
	outcome         outcome
	// text is why a key was refused, or what went wrong.
	text string
}

func (s sight) took() time.Duration { return s.answered.Sub(s.asked) }

// asker asks one replica as the gateway does.
type asker struct {
	url    string
	client *http.Client
}

func newAsker(base string) asker {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	return asker{url: base + "/internal/v1/api-keys/validate", client: &http.Client{Transport: transport}}
}

// ask asks about a key.
func (a asker) ask(ctx context.Context, key string) sight {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	s := sight{asked: time.Now()}
	s.outcome, s.text = a.exchange(ctx, key)
	s.answered = time.Now()
	return s
}

func (a asker) exchange(ctx context.Context, key string) (outcome, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		return unheard, err.Error()
	}
	response, err := a.client.Do(request)
	if err != nil {
		return unheard, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	var verdict service.Verdict
	if err := json.NewDecoder(response.Body).Decode(&verdict); err != nil {
		return unheard, err.Error()
	}
	switch {
	case response.StatusCode == http.StatusOK && verdict.Valid:
		return accepted, ""
	case response.StatusCode == http.StatusOK:
		return refused, verdict.Reason
	case response.StatusCode == http.StatusInternalServerError:
		return failed, response.Status
	default:
		return unheard, "unexpected answer: " + response.Status
	}
}

// load asks for as long as it is not stopped.
type load struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// workers call work again and again, each with its number, at most once in an
// interval and never twice at a time.
func (l *load) workers(ctx context.Context, count int, interval time.Duration, work func(ctx context.Context, worker, turn int)) {
	for worker := range count {
		l.group.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for turn := 0; ctx.Err() == nil; turn++ {
				work(ctx, worker, turn)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
}

// startLoad returns a load without workers, and their context.
func startLoad(ctx context.Context) (*load, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &load{cancel: cancel}, ctx
}

// stop returns when the last answer has come.
func (l *load) stop() {
	l.cancel()
	l.group.Wait()
}

// diary keeps sights; it may be used by several goroutines.
type diary struct {
	mu     sync.Mutex
	sights []sight
}

func (d *diary) note(s sight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sights = append(d.sights, s)
}

// of lists the sights of one outcome.
func (d *diary) of(o outcome) []sight {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []sight
	for _, s := range d.sights {
		if s.outcome == o {
			out = append(out, s)
		}
	}
	return out
}

// texts are what the sights of one outcome say, with how often.
func (d *diary) texts(o outcome) map[string]int {
	out := map[string]int{}
	for _, s := range d.of(o) {
		out[s.text]++
	}
	return out
}

// times are how long answers took.
func (d *diary) times() durations {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(durations, 0, len(d.sights))
	for _, s := range d.sights {
		out = append(out, s.took())
	}
	return out
}

// String counts the sights by outcome.
func (d *diary) String() string {
	var out []string
	for _, o := range []outcome{accepted, refused, failed, unheard} {
		if n := len(d.of(o)); n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	return strings.Join(out, ", ") + "; " + d.times().String()
}
