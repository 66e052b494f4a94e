// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// trial is a request with one of each list, as more of the same would only take time, and
// what is said of its fields: of which not every text is a good name or label.
func trial(r render.Request) (render.Request, rendertest.Option) {
	refused := []string{"Meta.Name", "Meta.Namespace", "Meta.Labels{}"}
	switch v := r.Values.(type) {
	case values.Monitor:
		if len(v.Selector) > 0 {
			refused = append(refused, "Selector{}")
		}
	case values.ControllerMonitor:
		refused = append(refused, "Selector{}")
	case values.AlertRules:
		v.Alerts = v.Alerts[:1]
		r.Values = v
	case values.UsageDashboard:
		v.Variables, v.Totals, v.Table = v.Variables[:1], v.Totals[:1], v.Table[:1]
		r.Values = v
	}
	return r, rendertest.Refused(refused...)
}

func TestNoTextChangesAnObject(t *testing.T) {
	t.Parallel()
	for _, r := range build(t, input()).Requests {
		t.Run(string(r.ID), func(t *testing.T) {
			t.Parallel()
			request, option := trial(r)
			rendertest.Hostile(t, parts.Engine(t), request, option)
		})
	}
}
