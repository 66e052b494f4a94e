// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/postgres"
)

// databaseName is that of maas-api's database.
const databaseName = "maas"

// startDatabase starts PostgreSQL, with the data of an earlier stack if there is any.
func (s *stack) startDatabase(ctx context.Context) error {
	if s.state.Database == "" { // An earlier start was killed before it knew the address.
		if err := s.end(processDatabase); err != nil {
			return err
		}
	}
	if runs, err := s.runsAlready(ctx, processDatabase); runs || err != nil {
		return err
	}
	server, err := postgres.Start(ctx, postgres.Options{
		Dir: s.layout.database(), Out: s.progress, Keep: s.keep, Fsync: s.keep,
		Started: func(p *process.Process) error { return s.record(processDatabase, &child{Process: p}) },
	})
	if err != nil {
		return err
	}
	s.state.Processes[processDatabase].Address = server.Address()
	if err := errors.Join(s.layout.writeState(s.state), server.CreateDatabase(ctx, databaseName)); err != nil {
		return err
	}
	s.state.Database = server.URL(databaseName)
	return s.layout.writeState(s.state)
}

// removeDatabase removes the data of a server that has ended.
func (l layout) removeDatabase() error {
	if err := postgres.Remove(l.database()); err != nil {
		return fmt.Errorf("remove the database: %w", err)
	}
	return nil
}
