// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clock is the time of the limiter, which tests can move.
type clock struct{ offset atomic.Int64 }

func timeNow() time.Time { return time.Now() }

func (c *clock) now() time.Time { return timeNow().Add(time.Duration(c.offset.Load())) }

// maxSetting bounds the body of a request for the admin address.
const maxSetting = 1 << 10

// admin serves tests: what has been decided and counted, and what they need to bring
// about. It is no interface of the components that are played.
//
//	GET    /config     what is executed, or why it cannot be
//	GET    /requests   the last decisions, the latest first; ?n=<count>, ?id=<x-request-id>
//	DELETE /requests   forget them
//	GET    /counters   what the limiter has counted in the present windows
//	DELETE /counters   begin every window anew
//	PUT    /clock      move the limiter's clock: a duration from the real time, like 61s
//	PUT    /limiter    up or down: whether the limiter answers
func (e *engine) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) { e.answer(w, e.state()) })
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if r.FormValue("n") != "" && (err != nil || n < 0) {
			http.Error(w, "n is the number of decisions", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := e.services.Recorder.Write(w, n, r.FormValue("id")); err != nil {
			e.log.Warn("Writing decisions failed", "error", err)
		}
	})
	mux.HandleFunc("DELETE /requests", func(w http.ResponseWriter, _ *http.Request) {
		e.services.Recorder.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) { e.answer(w, e.services.Limiter.Counters()) })
	mux.HandleFunc("DELETE /counters", func(w http.ResponseWriter, _ *http.Request) {
		e.services.Limiter.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("PUT /clock", setting(func(text string) error {
		offset, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("write how far the clock is ahead of the real time, like 61s")
		}
		e.clock.offset.Store(int64(offset))
		return nil
	}))
	mux.HandleFunc("PUT /limiter", setting(func(text string) error {
		if text != "up" && text != "down" {
			return errors.New("write up or down")
		}
		e.services.Limiter.SetDown(text == "down")
		return nil
	}))
	return mux
}

// state describes the configuration that is executed.
type state struct {
	ActionSets int `json:"actionSets"`
	Limits     int `json:"limits"`
	// EnvoyFilter and Limitador are the resource versions read; empty: no such object.
	EnvoyFilter string   `json:"envoyFilter"`
	Limitador   string   `json:"limitador"`
	Error       string   `json:"error,omitempty"`
	Notes       []string `json:"notes,omitempty"`
}

func (e *engine) state() state {
	present := e.present.Load()
	out := state{Limits: e.services.Limiter.Limits(), EnvoyFilter: present.filterVersion, Limitador: present.limiterVersion, Notes: present.notes}
	if present.plugin != nil {
		out.ActionSets = present.plugin.ActionSets()
	}
	if present.fault != nil {
		out.Error = present.fault.Error()
	}
	return out
}

func (e *engine) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		e.log.Warn("Answering failed", "error", err)
	}
}

// setting takes a word as a body.
func setting(set func(string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(io.LimitReader(r.Body, maxSetting))
		if err == nil {
			err = set(strings.TrimSpace(string(text)))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// serveAdmin serves the admin address until the context ends.
func (e *engine) serveAdmin(ctx context.Context, s settings) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.admin)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: e.admin(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(e.log.Handler(), slog.LevelDebug)}
	if s.adminFile != "" {
		if err := os.WriteFile(s.adminFile, []byte(listener.Addr().String()), 0o600); err != nil {
			return errors.Join(fmt.Errorf("write --admin-address-file: %w", err), listener.Close())
		}
	}
	e.log.Info("Serving what tests ask", "address", listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("Serving what tests ask failed", "error", err)
		}
	}()
	return nil
}
