// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// What became of a request in the filter.
const (
	// OutcomePassed requests went on to their backend.
	OutcomePassed = "passed"
	// OutcomeUnmatched requests went on because no action set is for them.
	OutcomeUnmatched = "unmatched"
	// OutcomeUnconfigured requests went on because there is no configuration at all.
	OutcomeUnconfigured = "unconfigured"
	// OutcomeMisconfigured requests were refused because the stand-in cannot execute
	// the configuration.
	OutcomeMisconfigured = "misconfigured"
	// OutcomeDenied requests were refused by the authorization server.
	OutcomeDenied = "denied"
	// OutcomeLimited requests were refused by a limit.
	OutcomeLimited = "limited"
	// OutcomeFailed requests were refused because something failed that must not.
	OutcomeFailed = "failed"
)

// What an action did.
const (
	ResultSkipped  = "skipped" // Its predicates do not hold.
	ResultAllowed  = "allowed"
	ResultDenied   = "denied"
	ResultWithin   = "within" // A check found room in every limit.
	ResultOver     = "over"
	ResultReported = "reported"
	ResultFailed   = "failed"
)

// How a reply ended that late actions waited for.
const (
	ReplyComplete = "complete"
	ReplyAborted  = "aborted" // By the client or by the backend: nothing is reported.
	ReplyEmpty    = "empty"   // Without a body the filter reports nothing either.
)

// Decision is the record of one request.
type Decision struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Host      string    `json:"host"`
	Path      string    `json:"path"`
	ActionSet string    `json:"actionSet,omitempty"`
	Outcome   string    `json:"outcome"`
	// Status is what the client got, of the filter or of the backend.
	Status int     `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"`
	Steps  []*Step `json:"steps,omitempty"`
	// Reply tells how the reply ended if an action waited for it.
	Reply string `json:"reply,omitempty"`
}

// Step is the record of one action.
type Step struct {
	Service string   `json:"service"`
	Type    string   `json:"type"`
	Scope   string   `json:"scope,omitempty"`
	Sources []string `json:"sources,omitempty"`
	Result  string   `json:"result"`
	Error   string   `json:"error,omitempty"`
	// Status is that of a denial.
	Status int `json:"status,omitempty"`
	// Headers are the names of headers that the authorization server has set; never
	// their values, which may be credentials.
	Headers []string `json:"headers,omitempty"`
	// Metadata is the dynamic metadata that is auth to later expressions.
	Metadata any `json:"metadata,omitempty"`
	// Descriptors and Hits are what the limiter is asked.
	Descriptors []map[string]string `json:"descriptors,omitempty"`
	Hits        uint64              `json:"hits,omitempty"`
	Limits      []limiter.Use       `json:"limits,omitempty"`
}

// maxDecisions bounds the record.
const maxDecisions = 5_000

// Recorder keeps the last decisions.
type Recorder struct {
	mu   sync.Mutex
	last []*Decision
}

// Add records a decision that the filter had no part in.
func (r *Recorder) Add(d *Decision) { r.add(d) }

func (r *Recorder) add(d *Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) >= maxDecisions {
		r.last = append(r.last[:0], r.last[maxDecisions/2:]...)
	}
	r.last = append(r.last, d)
}

// change alters decisions that may be read meanwhile.
func (r *Recorder) change(alter func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	alter()
}

// Clear forgets all decisions.
func (r *Recorder) Clear() { r.change(func() { r.last = nil }) }

// Write writes the last n decisions as a JSON list, the latest one first; all of
// them if n is 0, and only those of one request if an identity is given.
func (r *Recorder) Write(w io.Writer, n int, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []*Decision{}
	for i := len(r.last) - 1; i >= 0 && (n == 0 || len(out) < n); i-- {
		if id == "" || r.last[i].ID == id {
			out = append(out, r.last[i])
		}
	}
	return json.NewEncoder(w).Encode(out)
}
