// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const (
	// SelectPath is where the gateway asks for subscriptions.
	SelectPath = "/internal/v1/subscriptions/select"
	// MaxSelectBody is the largest body of a selection request, in bytes. A caller
	// in thousands of groups stays below it.
	MaxSelectBody = 64 << 10

	// typicalBody and typicalReply are the sizes that buffers begin with, maxKept the
	// size above which one is not used again.
	typicalBody  = 2 << 10
	typicalReply = 4 << 10
	maxKept      = 128 << 10
)

// Results of selections beside the codes of refusals, for the metric.
const (
	resultSelected = "selected"
	resultDenied   = "access_not_allowed"
	resultTooLarge = "too_large"
)

// Select answers which subscription a request is charged to.
type Select struct {
	source  subscription.Source
	results map[string]prometheus.Counter
	buffers sync.Pool
}

// buffers are what one request needs, for the next one to use again.
type buffers struct {
	body, reply []byte
}

// NewSelect makes the handler and registers its metric.
func NewSelect(source subscription.Source, registerer prometheus.Registerer) (*Select, error) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "maas_api_subscription_select_total", Help: "Answers to the gateway about the subscription of a request, by result: selected, access_not_allowed, or the code of the refusal.",
	}, []string{"result"})
	if err := registerer.Register(total); err != nil {
		return nil, fmt.Errorf("register metrics of selections: %w", err)
	}
	s := &Select{source: source, results: map[string]prometheus.Counter{}}
	for _, result := range []string{
		resultSelected, resultDenied, resultTooLarge, string(subscription.CodeInternal),
		string(entitlement.CodeBadRequest), string(entitlement.CodeNotFound), string(entitlement.CodeAccessDenied),
		string(entitlement.CodeMultipleSubscriptions), string(entitlement.CodeModelNotInSubscription), string(entitlement.CodeModelUnhealthy),
	} {
		s.results[result] = total.WithLabelValues(result)
	}
	s.buffers.New = func() any {
		return &buffers{body: make([]byte, 0, typicalBody), reply: make([]byte, 0, typicalReply)}
	}
	return s, nil
}

// Routes is the one route. Whatever the answer, its status is 200: the gateway's
// authorization server takes anything else for a failure of ours. The exception is
// a body that is too large, which no gateway sends.
func (s *Select) Routes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodPost, Pattern: SelectPath, Audience: httpapi.Internal, Handler: http.HandlerFunc(s.serve),
		MaxBody: MaxSelectBody, Family: httpapi.FamilyDecision, NoStore: true, Quiet: true,
	}}
}

func (s *Select) serve(w http.ResponseWriter, r *http.Request) {
	b, ok := s.buffers.Get().(*buffers)
	if !ok {
		b = &buffers{}
	}
	status, result := http.StatusOK, ""
	var err error
	b.body, err = readAll(r.Body, b.body[:0])
	switch {
	case errors.Is(err, httpapi.ErrTooLarge):
		status, result = http.StatusRequestEntityTooLarge, resultTooLarge
		b.reply, _ = refuse(b.reply[:0], malformed(bodyTooLarge))
	case err != nil:
		b.reply, result = refuse(b.reply[:0], err)
	default:
		// Names are parts of one copy of the body, which outlives the buffer.
		b.reply, result = s.answer(b.reply[:0], string(b.body))
	}
	if counter := s.results[result]; counter != nil {
		counter.Inc()
	}
	httpapi.WriteBytes(w, status, b.reply)
	if cap(b.body) <= maxKept && cap(b.reply) <= maxKept {
		s.buffers.Put(b)
	}
}

// answer appends the reply to a body and says what it came to.
func (s *Select) answer(reply []byte, body string) ([]byte, string) {
	request, err := decodeSelect(body)
	if err != nil {
		return refuse(reply, err)
	}
	snapshot := s.source.Snapshot()
	if snapshot == nil {
		return refuse(reply, subscription.ErrUnavailable)
	}
	caller, err := entitlement.FromToken(request.username, request.groups)
	if err != nil {
		return refuse(reply, err)
	}
	selection, err := snapshot.Index().Select(caller, entitlement.Request{Model: request.model, Subscription: request.subscription})
	if err != nil {
		return refuse(reply, err)
	}
	result := resultSelected
	if !selection.AccessAllowed {
		result = resultDenied
	}
	return snapshot.AppendSelection(reply, &selection), result
}

func refuse(reply []byte, err error) ([]byte, string) {
	code := subscription.CodeInternal
	if refusal, ok := errors.AsType[entitlement.Refusal](err); ok {
		code = refusal.Code
	}
	return subscription.AppendRefusal(reply, err), string(code)
}

// readAll appends a body of at most [MaxSelectBody] bytes, or returns
// [httpapi.ErrTooLarge] or a refusal.
func readAll(body io.Reader, into []byte) ([]byte, error) {
	if body == nil {
		return into, nil
	}
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := body.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		over := (*http.MaxBytesError)(nil)
		switch {
		case len(into) > MaxSelectBody, errors.As(err, &over):
			return into, httpapi.ErrTooLarge
		case errors.Is(err, io.EOF):
			return into, nil
		case err != nil:
			return into, malformed(bodyCutOff)
		}
	}
}
