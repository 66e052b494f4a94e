// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/simulator"
)

func start(t *testing.T, o simulator.Options) *simulator.Server {
	t.Helper()
	o.Out = t.Output()
	server, err := simulator.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// call sends a request and decodes the answer, which must be a 200.
func call(t *testing.T, method, address, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s", method, address, response.Status, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s %s: %v in %s", method, address, err, text)
	}
}

func TestServerListsTheServedName(t *testing.T) {
	t.Parallel()
	server := start(t, simulator.Options{Model: "acme/small", ServedName: "small"})
	var list struct {
		Data []struct{ ID string }
	}
	call(t, http.MethodGet, server.URL+"/v1/models", "", &list)
	if len(list.Data) != 1 || list.Data[0].ID != "small" {
		t.Errorf("models = %+v, want the one named small", list.Data)
	}
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func TestServerAnswersAMessageByItselfAndCountsItsTokens(t *testing.T) {
	t.Parallel()
	server := start(t, simulator.Options{Model: "small"})
	const body = `{"model":"small","messages":[{"role":"user","content":"one two three"}]}`
	var first, second struct {
		Usage   usage
		Choices []struct {
			Message struct{ Content string }
		}
	}
	call(t, http.MethodPost, server.URL+"/v1/chat/completions", body, &first)
	call(t, http.MethodPost, server.URL+"/v1/chat/completions", body, &second)
	if len(first.Choices) != 1 || first.Choices[0].Message.Content != "one two three" {
		t.Errorf("choices = %+v, want the message itself", first.Choices)
	}
	if u := first.Usage; u.Prompt == 0 || u.Completion == 0 || u.Total != u.Prompt+u.Completion {
		t.Errorf("usage = %+v, want tokens on both sides and their sum", u)
	}
	if diff := cmp.Diff(first.Usage, second.Usage); diff != "" {
		t.Errorf("the same message used other tokens (-first +second):\n%s", diff)
	}
}

func TestServerIsReachableFromThisMachineOnly(t *testing.T) {
	t.Parallel()
	server := start(t, simulator.Options{Model: "small"})
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range own {
		network, ok := candidate.(*net.IPNet)
		if !ok || network.IP.IsLoopback() || network.IP.To4() == nil {
			continue
		}
		target := net.JoinHostPort(network.IP.String(), address.Port())
		if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp4", target); err == nil {
			_ = connection.Close()
			t.Errorf("%s answers", target)
		}
	}
}

func TestServerIsGoneAfterStop(t *testing.T) {
	t.Parallel()
	server := start(t, simulator.Options{Model: "small"})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if server.Process.Alive() {
		t.Error("the process is alive")
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if server, err := simulator.Start(ctx, simulator.Options{Model: "small"}); err == nil {
		t.Errorf("Start = %+v, want an error", server)
	}
}
