// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label result of the mint counter.
const (
	mintSuccess  = "success"
	mintRejected = "rejected"
	mintFailure  = "failure"
)

const (
	labelTenant = "tenant_name"
	labelResult = "result"
	labelAction = "action"
	labelReason = "reason"

	reasonEphemeral = "ephemeral"
	reasonRetention = "retention"
)

// metrics counts what the service does. All values of labels are there from the
// start, so that the first event shows in a rate.
type metrics struct {
	mints, revocations, deletions *prometheus.CounterVec
}

func newMetrics(tenant string, registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{labelTenant: tenant}}, []string{label})
		for _, value := range values {
			c.WithLabelValues(value)
		}
		return c
	}
	m := &metrics{
		mints: counter("maas_api_token_mint_total",
			"Requests for a new API key that kept the rules about names and labels, by what came of them.",
			labelResult, mintSuccess, mintRejected, mintFailure),
		revocations: counter("maas_api_key_revocations_total",
			"API keys that were revoked, by the call that did it.",
			labelAction, string(ActionRevoke), string(ActionBulkRevoke), string(ActionTenantRevoke)),
		deletions: counter("maas_api_key_deletions_total",
			"API keys that were deleted: ephemeral ones after their expiry, and those of a deleted tenant after the retention.",
			labelReason, reasonEphemeral, reasonRetention),
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.mints, m.revocations, m.deletions} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of API keys: %w", err)
		}
	}
	return m, nil
}
