// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// renew brings back what a running stack may have lost by hand: samples that were
// deleted or edited, and a valid key.
func (s *stack) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, step := range []step{
		{what: "Applying config/samples", work: s.applySamples},
		{what: "Waiting until everything is in force", skip: !s.controller, work: s.converge},
		{what: "Looking whether the key is still valid", skip: !s.service || !s.controller, work: s.renewKey},
	} {
		if step.skip {
			continue
		}
		if err := s.progress.step(step.what, func() error { return step.work(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// renewKey makes a new key when the one that was kept is not valid any more.
func (s *stack) renewKey(ctx context.Context) error {
	valid, err := s.keyIsValid(ctx)
	if err != nil || valid {
		return err
	}
	s.progress.say("no: making another; read the settings again")
	if err := s.visitModel(ctx); err != nil {
		return err
	}
	return s.writeSettings()
}

func (s *stack) keyIsValid(ctx context.Context) (bool, error) {
	key, err := os.ReadFile(s.layout.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	v, err := s.newVisit(ctx)
	if err != nil {
		return false, err
	}
	defer v.close()
	var reply struct{ Valid bool }
	_, err = v.do(ctx, request{
		method: http.MethodPost, url: v.service + "/internal/v1/api-keys/validate", want: http.StatusOK,
		body: map[string]any{"key": strings.TrimSpace(string(key))},
	}, &reply)
	return reply.Valid, err
}

// vacant returns an error when a process that is not of the stack listens where one
// that does not run would.
func (s *stack) vacant(ctx context.Context, name string) error {
	const patience = time.Second
	address := s.state.Addresses[name]
	if address == "" || s.state.alive(name) != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil //nolint:nilerr // Nobody is there, which is what is asked.
	}
	_ = conn.Close() // Nothing was sent.
	return fmt.Errorf("start %s: another process listens at %s: stop your own build first", name, address)
}
