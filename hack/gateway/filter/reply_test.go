// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// reading is a request that has passed, with the body of the reply to it as the client
// gets it.
func reading(t *testing.T, service string, largest uint64, contentType string, body io.Reader) (*bench, io.ReadCloser) {
	t.Helper()
	client := allowing(t, map[string]any{"identity": map[string]any{"name": "alice"}}).client(t)
	b := benchWith(t, one(`{"service": "auth", "scope": "s"}, `+pair(service, "true")), client, tokens(largest))
	stream, answer := b.plugin.Begin(t.Context(), b.services, request())
	if answer != nil {
		t.Fatalf("answer %+v", answer)
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body), ContentLength: -1}
	stream.Reply(response)
	return b, response.Body
}

const (
	inJSON = "application/json"
	inSSE  = "text/event-stream; charset=utf-8"
)

func TestUsageOfReplies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, body string
		want       uint64 // 0: nothing is reported.
	}{
		"a document":                           {inJSON, `{"usage": {"total_tokens": 12}}`, 12},
		"a document without a type":            {"", `{"usage": {"total_tokens": 12}}`, 12},
		"no usage":                             {inJSON, `{"choices": []}`, 0},
		"usage of nothing":                     {inJSON, `{"usage": {"total_tokens": 0}}`, 1},
		"null":                                 {inJSON, `{"usage": null}`, 0},
		"an object":                            {inJSON, `{"usage": {"total_tokens": {}}}`, 0},
		"a text with a number":                 {inJSON, `{"usage": {"total_tokens": "12"}}`, 12},
		"a text":                               {inJSON, `{"usage": {"total_tokens": "many"}}`, 0},
		"a number with a fraction":             {inJSON, `{"usage": {"total_tokens": 12.7}}`, 12},
		"a negative number":                    {inJSON, `{"usage": {"total_tokens": -5}}`, 0},
		"a document that is cut off":           {inJSON, `{"usage": {"total_tokens": 12}`, 0},
		"two documents":                        {inJSON, `{"usage": {"total_tokens": 12}} {}`, 0},
		"no document":                          {inJSON, `oops`, 0},
		"a stream":                             {inSSE, "data: {}\n\ndata: {\"usage\":{\"total_tokens\":12}}\n\ndata: [DONE]\n\n", 12},
		"a stream with carriage returns":       {inSSE, "data: {}\r\n\r\ndata: {\"usage\":{\"total_tokens\":12}}\r\n\r\ndata: [DONE]\r\n\r\n", 12},
		"a stream of lines with both":          {inSSE, "data: {\"usage\":\r\ndata: {\"total_tokens\":12}}\r\n\r\ndata: [DONE]\r\n\r\n", 12},
		"a stream with only carriage returns":  {inSSE, "data: {\"usage\":{\"total_tokens\":12}}\r\rdata: [DONE]\r\r", 12},
		"a stream with comments and names":     {inSSE, ": hello\n\nevent: x\nid: 1\ndata:{\"usage\":\ndata: {\"total_tokens\":12}}\n\n: bye\n\ndata: [DONE]\n\n", 12},
		"a stream that ends with its usage":    {inSSE, "data: {}\n\ndata: {\"usage\":{\"total_tokens\":12}}\n\n", 0},
		"a stream whose usage is too early":    {inSSE, "data: {\"usage\":{\"total_tokens\":12}}\n\ndata: {}\n\ndata: [DONE]\n\n", 0},
		"a stream without usage":               {inSSE, "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", 0},
		"a stream whose last event is not one": {inSSE, "data: {\"usage\":{\"total_tokens\":12}}\n\ndata: [DONE]\n\ndata: half", 12},
		"a stream of one event":                {inSSE, "data: {\"usage\":{\"total_tokens\":12}}\n\n", 0},
		"a stream that is called a document":   {inJSON, "data: {\"usage\":{\"total_tokens\":12}}\n\ndata: [DONE]\n\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for pieces, reader := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader,
			} {
				b, reply := reading(t, "", 1000, tc.kind, reader(strings.NewReader(tc.body)))
				got, err := io.ReadAll(reply)
				if err != nil || string(got) != tc.body {
					t.Fatalf("%s: the client reads %q (%v)", pieces, got, err)
				}
				b.mustHaveReported(t, pieces, tc.want)
			}
		})
	}
}

// mustHaveReported compares what a complete reply has left behind; 0 stands for a
// report that was not possible.
func (b *bench) mustHaveReported(t *testing.T, how string, want uint64) {
	t.Helper()
	counters, d := b.services.Limiter.Counters(), b.last(t)
	if d.Reply != ReplyComplete || d.Status != http.StatusOK || d.Outcome != OutcomePassed {
		t.Errorf("%s: decision %+v", how, d)
	}
	if want > 0 {
		if len(counters) != 1 || counters[0].Value != want || results(d) != "auth:allowed check:within report:reported" {
			t.Errorf("%s: counters %+v, %s", how, counters, results(d))
		}
		return
	}
	if len(counters) != 0 || results(d) != "auth:allowed check:within report:failed" {
		t.Errorf("%s: counters %+v, %s", how, counters, results(d))
		return
	}
	if e := d.Steps[2].Error; !strings.Contains(e, "/usage/total_tokens") && !strings.Contains(e, "uint(") {
		t.Errorf("%s: error %q", how, e)
	}
}

// piecewise hands out one piece per read and then ends in some way.
type piecewise struct {
	pieces []string
	end    error
}

func (p *piecewise) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, p.end
	}
	n := copy(b, p.pieces[0])
	p.pieces = p.pieces[1:]
	return n, nil
}

var streamed = []string{"data: {\"usage\":{\"total_tokens\":5}}\n\n", "data: {\"usage\":{\"total_tokens\":12}}\n\n", "data: [DONE]\n\n"}

func TestPiecesPassAsTheyCome(t *testing.T) {
	t.Parallel()
	b, reply := reading(t, "", 1000, inSSE, &piecewise{streamed, io.EOF})
	buffer := make([]byte, 1000)
	for i, want := range streamed {
		n, err := reply.Read(buffer)
		if err != nil || string(buffer[:n]) != want {
			t.Fatalf("piece %d is %q (%v)", i, buffer[:n], err)
		}
		if len(b.services.Limiter.Counters()) != 0 || b.last(t).Reply != "" {
			t.Fatalf("something is reported after piece %d", i)
		}
	}
	if _, err := reply.Read(buffer); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if c := b.services.Limiter.Counters(); len(c) != 1 || c[0].Value != 12 {
		t.Errorf("counters %+v before the client sees the end", c)
	}
	if err := reply.Close(); err != nil || b.last(t).Reply != ReplyComplete {
		t.Errorf("the reply is %s (%v)", b.last(t).Reply, err)
	}
}

func TestReplyThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	reset := errors.New("reset")
	for name, read := range map[string]func(*testing.T, io.Reader){
		"by the client": func(t *testing.T, r io.Reader) {
			t.Helper()
			if _, err := r.Read(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
		},
		"by the backend": func(t *testing.T, r io.Reader) {
			t.Helper()
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, reset) {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, reply := reading(t, "", 1000, inSSE, &piecewise{streamed, reset})
			read(t, reply)
			if err := reply.Close(); err != nil {
				t.Fatal(err)
			}
			d := b.last(t)
			if c := b.services.Limiter.Counters(); len(c) != 0 || d.Reply != ReplyAborted || results(d) != "auth:allowed check:within" {
				t.Errorf("counters %+v, reply %s, %s", c, d.Reply, results(d))
			}
		})
	}
}

// A budget that is used up while a reply runs changes nothing for it.
func TestBudgetNeverBreaksARunningReply(t *testing.T) {
	t.Parallel()
	b, reply := reading(t, "", 10, inSSE, &piecewise{streamed, io.EOF})
	b.services.Limiter.Reset()
	if _, err := b.services.Limiter.Report("shop/route", []map[string]string{{"limit.a": "1", "auth.identity.name": "alice"}}, 100); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(reply)
	if err != nil || string(got) != strings.Join(streamed, "") {
		t.Errorf("the client reads %q (%v)", got, err)
	}
	if c := b.services.Limiter.Counters(); len(c) != 1 || c[0].Value != 112 {
		t.Errorf("counters %+v", c)
	}
}

func TestReportThatFails(t *testing.T) {
	t.Parallel()
	for service, wantError := range map[string]error{"": nil, "strict-": errBroken} {
		t.Run(service+"report", func(t *testing.T) {
			t.Parallel()
			b, reply := reading(t, service, 1000, inJSON, strings.NewReader(`{"usage": {"total_tokens": 12}}`))
			b.services.Limiter.SetDown(true)
			if _, err := io.ReadAll(reply); !errors.Is(err, wantError) {
				t.Errorf("error %v, want %v", err, wantError)
			}
			d := b.last(t)
			if !strings.HasSuffix(results(d), "report:failed") || (d.Outcome == OutcomeFailed) != (wantError != nil) {
				t.Errorf("%s, %s", d.Outcome, results(d))
			}
		})
	}
}

func TestReplyWithoutABodyReportsNothing(t *testing.T) {
	t.Parallel()
	b, _ := reading(t, "", 1000, inJSON, http.NoBody)
	stream, _ := b.plugin.Begin(t.Context(), b.services, request())
	response := &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, ContentLength: 0}
	stream.Reply(response)
	if d := b.last(t); d.Reply != ReplyEmpty || response.Body != http.NoBody || d.Status != http.StatusNoContent {
		t.Errorf("decision %+v", d)
	}
}

// What an expression may ask of the reply must be there, even where it would not look.
func TestExpressionThatMayAskOfTheReply(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{`{"a": 7}`: "report:reported", `{}`: "report:failed"} {
		b := benchWith(t, one(`{"service": "report", "scope": "shop/route", "conditionalData": [{"data": [
			{"expression": {"key": "ratelimit.hits_addend", "value": "request.method == 'POST' ? 5 : responseBodyJSON('/a')"}}]}]}`), nil)
		stream, _ := b.plugin.Begin(t.Context(), b.services, request())
		response := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
		stream.Reply(response)
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if got := results(b.last(t)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// An action that needs nothing of the reply does not wait for it.
func TestReportWithoutAReply(t *testing.T) {
	t.Parallel()
	b := benchWith(t, one(`{"service": "report", "scope": "shop/route", "conditionalData": [{"data": [{"static": {"key": "limit.a", "value": "1"}}, {"static": {"key": "auth.identity.name", "value": "x"}}]}]}`), nil, tokens(10))
	if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
		t.Fatalf("answer %+v", answer)
	}
	if c := b.services.Limiter.Counters(); len(c) != 1 || c[0].Value != 1 || results(b.last(t)) != "report:reported" {
		t.Errorf("counters %+v, %s", c, results(b.last(t)))
	}
}
