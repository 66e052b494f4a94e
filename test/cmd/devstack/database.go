// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/postgres"
)

// databaseName is that of maas-api's database.
const databaseName = "maas"

// startDatabase starts PostgreSQL, with the data of an earlier stack if there is
// any, and writes the Secret that leads maas-api to it.
func (s *stack) startDatabase(ctx context.Context) error {
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
	return s.applyDatabaseSecret(ctx, server.URL(databaseName))
}

// applyDatabaseSecret writes the Secret that maas-api reads, and its namespace.
func (s *stack) applyDatabaseSecret(ctx context.Context, url string) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	namespace := serviceAccount().Namespace
	return samples.Apply(ctx, c, []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
		}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata":   map[string]any{"name": "maas-db-config", "namespace": namespace},
			"stringData": map[string]any{"DB_CONNECTION_URL": url},
		}},
	})
}

// removeDatabase removes the data of a server that has ended.
func (l layout) removeDatabase() error {
	if err := postgres.Remove(l.database()); err != nil {
		return fmt.Errorf("remove the database: %w", err)
	}
	return nil
}
