// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver starts an API server for one test that asks what a cluster accepts.
// Nothing runs beside it. It knows nothing of what it is asked.
package apiserver

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// startTimeout is for a machine that has to build a control plane first.
const startTimeout = 15 * time.Minute

// Admin starts an API server with some CRDs, which ends with the test, and returns a
// client that may do everything there.
func Admin(tb testing.TB, crds ...testenv.CRDSet) client.Client {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: crds, Log: tb.Output()})
	if err != nil {
		tb.Fatalf("start the API server: %v", err)
	}
	tb.Cleanup(func() {
		if err := env.Stop(); err != nil {
			tb.Errorf("stop the API server: %v", err)
		}
	})
	admin, err := client.New(env.AdminConfig(), client.Options{})
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	return admin
}
