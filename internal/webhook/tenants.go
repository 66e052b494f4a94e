// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// cacheTimeout bounds the wait for a cache that is still being filled, so that
// there is time left to ask the API server.
const cacheTimeout = time.Second

// Tenants finds the tenants of namespaces and models.
type Tenants struct {
	// Cached answers at once, and may be a moment behind.
	Cached lookup.Tenants
	// Live asks the API server.
	Live lookup.Tenants
}

// settle returns nil when the question does. The cache's word is good enough to
// admit; before anything is refused the API server is asked, because what was
// created a moment ago may not have reached the cache.
func (t Tenants) settle(ctx context.Context, question func(context.Context, lookup.Tenants) error) error {
	quick, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	if question(quick, t.Cached) == nil {
		return nil
	}
	return question(ctx, t.Live)
}
