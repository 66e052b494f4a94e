// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// errBroken ends a reply whose report failed and must not.
var errBroken = errors.New("the filter has broken the reply off")

// Reply shows the filter the reply of the backend. Its body passes as it comes, piece
// by piece. Late actions run when it has ended and before the client sees the end, as
// the filter holds the last piece back until they have. A reply that is broken off, by
// the client or by the backend, never ends for the filter: nothing is reported then,
// whatever has been seen. (Known from the public source of wasm-shim: its late tasks
// need the end of the stream, and nothing runs when a stream is reset.)
func (s *Stream) Reply(response *http.Response) {
	s.services.Recorder.change(func() { s.decision.Status = response.StatusCode })
	if len(s.late) == 0 {
		return
	}
	if response.Body == nil || response.Body == http.NoBody || response.ContentLength == 0 {
		s.services.Recorder.change(func() { s.decision.Reply = ReplyEmpty })
		return
	}
	var seen usage = &whole{}
	if strings.Contains(response.Header.Get("Content-Type"), "text/event-stream") {
		seen = &events{}
	}
	response.Body = &observed{ReadCloser: response.Body, stream: s, usage: seen}
}

// Failed records that there is no reply of the backend but one of the proxy. The
// filter looks for usage in that as well, and finds none.
func (s *Stream) Failed(status int) {
	s.services.Recorder.change(func() { s.decision.Status = status })
}

// observed is the body of a reply while it passes.
type observed struct {
	io.ReadCloser
	stream *Stream
	usage  usage
	ended  bool
}

// Read passes a piece on.
func (o *observed) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if o.ended {
		return n, err
	}
	o.usage.add(p[:n])
	if errors.Is(err, io.EOF) {
		o.ended = true
		if broken := o.stream.complete(o.usage); broken != nil {
			return n, broken
		}
	}
	return n, err
}

// Close also ends what was not read to its end.
func (o *observed) Close() error {
	if !o.ended {
		o.ended = true
		o.stream.services.Recorder.change(func() { o.stream.decision.Reply = ReplyAborted })
	}
	return o.ReadCloser.Close()
}

// complete runs the late actions.
func (s *Stream) complete(seen usage) error {
	for _, a := range s.late {
		for x := range a.expressions() {
			for _, pointer := range x.reply {
				if value, ok := seen.find(pointer); ok {
					s.reply[pointer] = value
				}
			}
		}
	}
	s.services.Recorder.change(func() { s.decision.Reply = ReplyComplete })
	for _, a := range s.late {
		// The request may be over for its client; what it used is reported all the same.
		if answer := s.run(context.Background(), a); answer != nil {
			s.services.Recorder.change(func() { s.decision.Outcome = OutcomeFailed })
			return errBroken // Its status has been sent: only breaking the reply off is left.
		}
	}
	return nil
}
