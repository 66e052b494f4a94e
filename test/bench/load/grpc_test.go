// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newMethod serves a method that answers with the message it was sent; with a status
// other than 0, without one.
func newMethod(t *testing.T, status string) *Plan {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 || r.Header.Get("Content-Type") != "application/grpc" {
			t.Errorf("%s with %v: %v", r.Proto, r.Header, err)
		}
		w.Header().Set("Content-Type", "application/grpc")
		if status != "0" {
			w.Header().Set("Grpc-Status", status)
			w.Header().Set("Grpc-Message", "no such method")
			return
		}
		_, _ = w.Write(message)
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return &Plan{
		Address: s.Listener.Addr().String(), Protocol: GRPC, Clients: 3, Measure: 200 * time.Millisecond,
		Turn: func(int) []Request {
			return []Request{{Path: "/s/m", Body: []byte("good"), Status: 200, Text: []byte("good")}}
		},
	}
}

func TestMethodsAreCalled(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), newMethod(t, "0"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Turns == 0 || r.Requests != r.Turns {
		t.Errorf("turns %d, requests %d", r.Turns, r.Requests)
	}
}

func TestAMethodThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), newMethod(t, "12")); err == nil || !strings.Contains(err.Error(), `status "12": no such method`) {
		t.Errorf("Run() = %v, want the status", err)
	}
}

func TestAMessageThatIsNotWhatItShouldEndsTheRun(t *testing.T) {
	t.Parallel()
	p := newMethod(t, "0")
	p.Turn = func(int) []Request {
		return []Request{{Path: "/s/m", Body: []byte("bad"), Status: 200, Text: []byte("good")}}
	}
	if _, err := Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "is answered by 200 bad, want") {
		t.Errorf("Run() = %v, want the message", err)
	}
}
