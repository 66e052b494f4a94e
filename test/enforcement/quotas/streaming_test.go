// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// oddPath is where a spec answers at the model odd.
const oddPath = "/v1/odd"

func streaming() {
	g := NewGomega(Fail)
	BeforeEach(func(ctx SpecContext) { afresh(ctx, g) })

	It("counts the usage at the end of a stream (B03)", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(roomy))
		answer := send(ctx, g, alice.stream(9, withUsage))
		Expect(answer.Header.Get("Content-Type")).To(HavePrefix("text/event-stream"))
		Expect(answer.tokens).To(Equal(cost(9)))
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{cost(9)}))
	}, SpecTimeout(specTimeout))

	It("does not cut a stream that exceeds the limit, and refuses the next one (B01)", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(small))
		answer := send(ctx, g, alice.stream(50, withUsage))
		Expect(answer.Status).To(Equal(http.StatusOK))
		Expect(answer.Body).To(HaveSuffix("data: [DONE]\n\n"))
		Expect(strings.Count(answer.Body, `"content":"word`)).To(Equal(50))
		refused(ctx, g, alice.stream(1, withUsage))
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{cost(50)}))
	}, SpecTimeout(specTimeout))

	// What the following tell is true of the gateway's engines, whatever policies say.
	It("counts nothing of a stream that does not tell its usage (B03)", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(small))
		for _, options := range []string{"", `,"stream_options":{"include_usage":false}`} {
			answer := send(ctx, g, alice.stream(50, options))
			Expect(answer.Body).To(HaveSuffix("data: [DONE]\n\n"))
			Expect(answer.tokens).To(BeZero())
		}
		Expect(counted(ctx, g, alice)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("counts nothing of a stream that its client leaves (B03)", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(small))
		id := leave(ctx, g, alice.stream(200, withUsage))
		Eventually(ctx, func() (string, error) {
			decision, err := at.tenant.Decision(ctx, id)
			if err != nil || decision == nil {
				return "", err
			}
			return decision.Reply, nil
		}).Should(Equal("aborted"))
		Expect(counted(ctx, g, alice)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	for _, odd := range oddReplies() {
		It("counts "+odd.counts+" of "+odd.name, func(ctx SpecContext) {
			alice := at.at(at.odd, at.alice.by(roomy))
			defer on.Upstream.Answer(oddPath, odd.answer)()
			_, err := on.Do(ctx, alice.post(oddPath, "{}"))
			Expect(err != nil).To(Equal(odd.broken), "%v", err)
			if odd.broken {
				Expect(err).To(MatchError(io.ErrUnexpectedEOF))
			}
			Expect(counted(ctx, g, alice)).To(Equal(odd.want))
		}, SpecTimeout(specTimeout))
	}
}

// oddReply is a reply of a model, and what is counted of it.
type oddReply struct {
	name, counts string
	answer       http.HandlerFunc
	want         []uint64
	// broken tells that the client sees no end of it.
	broken bool
}

func oddReplies() []oddReply {
	const seven = `{"usage":{"total_tokens":7}}`
	document := func(body string) http.HandlerFunc { return replying("application/json", http.StatusOK, body, nil) }
	events := func(data ...string) http.HandlerFunc {
		return replying("text/event-stream", http.StatusOK, "data: "+strings.Join(data, "\n\ndata: ")+"\n\n", nil)
	}
	broken := errors.New("the model breaks off")
	return []oddReply{
		{name: "a reply that tells it", counts: "what it tells", answer: document(seven), want: []uint64{7}},
		{name: "a reply that cost nothing", counts: "one token", answer: document(`{"usage":{"total_tokens":0}}`), want: []uint64{1}},
		{name: "a reply without usage", counts: "nothing", answer: document(`{}`), want: []uint64{}},
		{
			name: "a reply of the messages format (B02)", counts: "nothing", want: []uint64{},
			answer: document(`{"type":"message","usage":{"input_tokens":3,"output_tokens":4}}`),
		},
		{name: "a usage below zero", counts: "nothing", answer: document(`{"usage":{"total_tokens":-7}}`), want: []uint64{}},
		{
			name: "a failure of the model that tells a usage", counts: "what it tells", want: []uint64{7},
			answer: replying("application/json", http.StatusInternalServerError, seven, nil),
		},
		{name: "a failure of the model", counts: "nothing", answer: replying("text/plain", http.StatusBadGateway, "no", nil), want: []uint64{}},
		{name: "a stream with its usage before [DONE]", counts: "what it tells", answer: events(`{}`, seven, "[DONE]"), want: []uint64{7}},
		{
			name: "a stream that tells its usage so far all the time", counts: "the last", want: []uint64{7},
			answer: events(`{"usage":{"total_tokens":5}}`, `{"usage":{"total_tokens":6}}`, seven, "[DONE]"),
		},
		{
			name: "a stream of the messages format (B02)", counts: "nothing", want: []uint64{},
			answer: events(`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`, `{"type":"message_delta","usage":{"output_tokens":4}}`, `{"type":"message_stop"}`),
		},
		{
			name: "a stream that the model breaks off", counts: "nothing", want: []uint64{}, broken: true,
			answer: replying("text/event-stream", http.StatusOK, "data: "+seven+"\n\n", broken),
		},
	}
}

// replying answers, and ends in good order or not.
func replying(kind string, status int, body string, broken error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // What is missing of it shows.
		if broken != nil {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// leave asks for a stream, reads how it begins, and goes away. It returns the id of the
// request.
func leave(ctx context.Context, g Gomega, r world.Request) string {
	id, response, err := on.Open(ctx, r)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }() // The other end may have noticed.
	g.Expect(response.StatusCode).To(Equal(http.StatusOK))
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"content":"word`) {
			return id
		}
	}
	g.Expect(errors.New("the stream ended at once")).NotTo(HaveOccurred(), fmt.Sprint(response.Header))
	return id
}
