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
)

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
	if err := s.visitModel(ctx, defaultTenant); err != nil {
		return err
	}
	return s.writeSettings(ctx, defaultTenant)
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
	var reply struct{ Valid bool }
	_, err = v.do(ctx, request{
		method: http.MethodPost, url: v.service + "/internal/v1/api-keys/validate", want: http.StatusOK,
		body: map[string]any{"key": strings.TrimSpace(string(key))},
	}, &reply)
	return reply.Valid, err
}
