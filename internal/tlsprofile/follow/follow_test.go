// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
	"github.com/opendatahub-io/maas-operator/internal/tlsprofile/follow"
)

const modernAPIServer = `{"apiVersion":"config.openshift.io/v1","kind":"APIServer","metadata":{"name":"cluster","resourceVersion":"1"},` +
	`"spec":{"tlsAdherence":"StrictAllComponents","tlsSecurityProfile":{"type":"Modern"}}}`

// clusterProfile follows the profile of an API server that answers as given.
func clusterProfile(t *testing.T, answer http.HandlerFunc) (*follow.Profile, *clocktesting.FakeClock, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	clients, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock, log := clocktesting.NewFakeClock(time.Now()), &bytes.Buffer{}
	return follow.New(clients, clock, slog.New(slog.NewTextHandler(log, nil))), clock, log
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","code":` + strconv.Itoa(code) + `}`))
}

func TestTLSProfileOfTheCluster(t *testing.T) {
	t.Parallel()
	modern := tlsprofile.Parameters{MinVersion: tls.VersionTLS13}
	for name, tc := range map[string]struct {
		answers    []int // Status by try; 200 is the modern profile, 1 an invalid one.
		want       tlsprofile.Parameters
		wantFollow bool
		wantTries  int32
	}{
		"a profile":              {[]int{200}, modern, true, 1},
		"no such API":            {[]int{404}, tlsprofile.Intermediate(), false, 1},
		"no right to read it":    {[]int{403}, tlsprofile.Intermediate(), false, 1},
		"a fault that passes":    {[]int{500, 500, 200}, modern, true, 3},
		"a fault that stays":     {[]int{500, 500, 500}, tlsprofile.Intermediate(), true, 3},
		"an invalid profile":     {[]int{1, 1, 1}, tlsprofile.Intermediate(), true, 3},
		"a fault, then no API":   {[]int{500, 404}, tlsprofile.Intermediate(), false, 2},
		"an object that is late": {[]int{503, 200}, modern, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			profile, clock, _ := clusterProfile(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/apis/config.openshift.io/v1/apiservers/cluster" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				switch code := tc.answers[min(int(tries.Add(1)), len(tc.answers))-1]; code {
				case 200:
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(modernAPIServer))
				case 1:
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(strings.ReplaceAll(modernAPIServer, "Modern", "Ancient")))
				case 404:
					refuse(w, code, "NotFound")
				case 403:
					refuse(w, code, "Forbidden")
				default:
					refuse(w, code, "InternalError")
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				for ctx.Err() == nil {
					if clock.HasWaiters() {
						clock.Step(2 * time.Second)
					}
				}
			})
			got, follow := profile.Fetch(t.Context())
			cancel()
			wg.Wait()
			if diff := cmp.Diff(tc.want, got); diff != "" || follow != tc.wantFollow || tries.Load() != tc.wantTries {
				t.Errorf("follow %v after %d tries (-want +got):\n%s", follow, tries.Load(), diff)
			}
		})
	}
}

func TestTLSProfileIsFollowed(t *testing.T) {
	t.Parallel()
	changes := make(chan string, 4)
	profile, _, log := clusterProfile(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("fieldSelector"); got != "metadata.name=cluster" {
			t.Errorf("selects %q", got)
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"apiVersion":"config.openshift.io/v1","kind":"APIServerList","metadata":{"resourceVersion":"1"},"items":[` + modernAPIServer + `]}`))
			return
		}
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			refuse(w, http.StatusBadRequest, "BadRequest") // An API server that lists the former way.
			return
		}
		_ = http.NewResponseController(w).Flush() // A server of net/http can.
		for {
			select {
			case event := <-changes:
				_, _ = w.Write([]byte(event + "\n"))
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	applied := make(chan tlsprofile.Parameters, 8)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- profile.Follow(ctx, func(p tlsprofile.Parameters) { applied <- p }) }()

	expect := func(what string, want tlsprofile.Parameters) {
		t.Helper()
		if diff := cmp.Diff(want, <-applied); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	event := func(kind, profile, version string) {
		object := strings.NewReplacer("Modern", profile, `"resourceVersion":"1"`, `"resourceVersion":"`+version+`"`).Replace(modernAPIServer)
		encoded, err := json.Marshal(map[string]any{"type": kind, "object": json.RawMessage(object)})
		if err != nil {
			t.Error(err)
		}
		changes <- string(encoded)
	}
	expect("what is there", tlsprofile.Parameters{MinVersion: tls.VersionTLS13})
	event("MODIFIED", "Ancient", "2") // Changes nothing.
	event("MODIFIED", "Intermediate", "3")
	expect("a change behind an invalid one", tlsprofile.Intermediate())
	event("DELETED", "Modern", "4")
	expect("no object any more", tlsprofile.Intermediate())
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "the profile of the cluster is invalid") {
		t.Errorf("log: %s", log)
	}
}
