// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile collects a CPU profile of the next minute; the returned function waits
// for its end. Without a directory for profiles it does nothing.
func (w *world) profile(ctx context.Context, what string) (end func() error) {
	if w.options.Profiles == "" {
		return func() error { return nil }
	}
	const seconds = 60
	done := make(chan error, 1)
	go func() { done <- w.fetch(ctx, fmt.Sprintf("profile?seconds=%d", seconds), what+".cpu") }()
	return func() error {
		w.say("waiting for the end of a profile")
		return <-done
	}
}

// profileSelf collects a CPU profile of this process until the returned function
// is called: the stand-ins run in it, and must not take the time that is measured.
func (w *world) profileSelf() (end func() error, err error) {
	if w.options.Profiles == "" {
		return func() error { return nil }, nil
	}
	out, err := os.Create(filepath.Join(w.options.Profiles, w.name+"-bench.cpu"))
	if err != nil {
		return nil, fmt.Errorf("store profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, errors.Join(fmt.Errorf("take profile: %w", err), out.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return out.Close()
	}, nil
}

// heap stores a heap profile.
func (w *world) heap(ctx context.Context, what string) error {
	if w.options.Profiles == "" {
		return nil
	}
	return w.fetch(ctx, "heap?gc=1", what+".heap")
}

func (w *world) fetch(ctx context.Context, page, file string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.pprof+"/debug/pprof/"+page, http.NoBody)
	if err != nil {
		return fmt.Errorf("take profile: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("take profile: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	out, err := os.Create(filepath.Join(w.options.Profiles, w.name+"-"+file))
	if err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		_ = out.Close()
		return fmt.Errorf("store profile: %w", err)
	}
	return out.Close()
}
