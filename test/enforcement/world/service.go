// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"

	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
)

// metricsPort is that of maas-api's metrics in a Pod.
const metricsPort = 9090

// MaaSAPIMetrics are the metrics of every maas-api that runs, of all tenants together.
func (w *World) MaaSAPIMetrics(ctx context.Context) (scrape.Samples, error) {
	all := scrape.Samples{}
	for _, c := range w.Stage.Workload.Containers(installation.Namespace) {
		address := c.Ports[metricsPort]
		if !c.Running || address == "" {
			continue
		}
		page, err := scrape.Get(ctx, "http://"+address+"/metrics")
		if err != nil {
			return nil, err
		}
		for series, value := range page {
			all[series] += value
		}
	}
	if len(all) == 0 {
		return nil, errors.New("read metrics: no maas-api runs")
	}
	return all, nil
}

// StoreKeys puts the keys of a ring from first on into the database, behind maas-api's
// back.
func (w *World) StoreKeys(ctx context.Context, ring keyring.Ring, first, count int) error {
	return ring.Store(ctx, w.parts.Database(), first, count)
}
