// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
)

// keyTimeout is more than maas-api takes to learn who may use what.
const keyTimeout = 30 * time.Second

// renew brings back what a running stack may have lost by hand: samples that were
// deleted or edited, and a valid key.
func (s *stack) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, step := range []step{
		{what: "Applying config/samples", skip: !s.controller, work: s.applySamples},
		{what: "Waiting until everything is in force", skip: !s.controller, work: s.converge},
		{what: "Looking whether the key is still valid", skip: !s.callable(), work: s.renewKey},
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
	if err := s.renewToken(ctx); err != nil {
		return err
	}
	if err := s.visitModel(ctx, defaultTenant); err != nil {
		return err
	}
	return s.writeSettings(ctx, defaultTenant)
}

// awaitKey waits until the kept key works at the gateway: to a maas-api that was just
// started the way has yet to open, and it has yet to learn who may use what. A key that
// is not valid any more, or that somebody keeps out, is nobody's to wait for.
func (s *stack) awaitKey(ctx context.Context) error {
	if !s.callable() || s.state.alive(processGateway) == nil {
		return nil
	}
	key, err := os.ReadFile(s.layout.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	v, err := s.newVisit(ctx, defaultTenant)
	if err != nil {
		return err
	}
	defer v.close()
	if last := v.awaitKey(ctx, strings.TrimSpace(string(key))); last != nil {
		s.progress.say("the key made at the start does not let anybody in: %v", last)
	}
	return ctx.Err()
}

// awaitKey waits until the model is reached with a key, or that is not valid, and
// returns what else happens in the end.
func (v *visit) awaitKey(ctx context.Context, key string) error {
	var last error
	_ = poll(ctx, keyTimeout, admitPoll, func(ctx context.Context) (bool, error) { // The last answer tells more.
		var valid bool
		if valid, last = v.valid(ctx, key); last == nil && valid {
			_, last = v.do(ctx, request{method: http.MethodGet, url: v.endpoint + "/v1/models", credential: key, want: http.StatusOK}, nil)
		}
		return last == nil, nil
	})
	return last
}

func (s *stack) keyIsValid(ctx context.Context) (bool, error) {
	key, err := os.ReadFile(s.layout.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	v, err := s.newVisit(ctx, defaultTenant)
	if err != nil {
		return false, err
	}
	defer v.close()
	return v.valid(ctx, strings.TrimSpace(string(key)))
}

// valid asks maas-api about a key.
func (v *visit) valid(ctx context.Context, key string) (bool, error) {
	var reply struct{ Valid bool }
	_, err := v.do(ctx, request{
		method: http.MethodPost, url: v.service + "/internal/v1/api-keys/validate", want: http.StatusOK,
		body: map[string]any{"key": key},
	}, &reply)
	return reply.Valid, err
}
