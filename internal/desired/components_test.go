// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

func TestEveryTemplatePassesTheChecks(t *testing.T) {
	t.Parallel()
	if _, err := render.New(templates.FS, desired.Components()); err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
}
