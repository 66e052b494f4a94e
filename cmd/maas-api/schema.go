// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// lookEvery is the time between two looks at the schema: the database may have
	// been replaced, or put back to an older state.
	lookEvery = 30 * time.Second
	// lookTimeout is how long one may take.
	lookTimeout = 5 * time.Second
)

var (
	errSchema   = errors.New("the schema of the database is older than this program needs: restart it, or run the migrate command")
	errReplaced = errors.New("the tenant was deleted, or made again with another UID: stop this program, or start it with the UID of the present one")
)

// schemaWatch tells whether the database has the schema that this program needs,
// and still belongs to its tenant. It looks now and then, so that asking costs
// nothing.
type schemaWatch struct {
	database interface {
		Migrated(ctx context.Context) (bool, error)
		Replaced(ctx context.Context) (bool, error)
	}
	clock clock.WithTicker
	found atomic.Pointer[error] // By the last look that was answered; nil: there was none.
}

// Ready returns nil if the last look that was answered found everything in order.
// That the database does not answer is no matter of the schema.
func (s *schemaWatch) Ready() error {
	if problem := s.found.Load(); problem != nil {
		return *problem
	}
	return errSchema
}

// Run looks every now and then until the context ends.
func (s *schemaWatch) Run(ctx context.Context) error {
	ticker := s.clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			_ = s.look(ctx) // The check of the database tells.
		}
	}
}

func (s *schemaWatch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	migrated, err := s.database.Migrated(ctx)
	if err != nil {
		return fmt.Errorf("look at the schema of the database: %w", err)
	}
	if !migrated {
		s.found.Store(new(errSchema))
		return nil
	}
	replaced, err := s.database.Replaced(ctx)
	if err != nil {
		return fmt.Errorf("look whether the tenant was replaced: %w", err)
	}
	var problem error
	if replaced {
		problem = errReplaced
	}
	s.found.Store(&problem)
	return nil
}
