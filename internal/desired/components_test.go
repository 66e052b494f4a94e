// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

func TestEveryTemplatePassesTheChecks(t *testing.T) {
	t.Parallel()
	if _, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development())); err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
}

func TestEveryValueTypeKeepsToTheContract(t *testing.T) {
	t.Parallel()
	for _, component := range desired.Components() {
		if err := render.CheckValues(reflect.TypeOf(component.Values)); err != nil {
			t.Errorf("%s: %v", component.ID, err)
		}
	}
}

func TestEveryComponentSaysWhenItIsWanted(t *testing.T) {
	t.Parallel()
	for _, component := range desired.Table() {
		if !strings.HasSuffix(component.WantedWhen, ".") {
			t.Errorf("%s: WantedWhen is %q, want a sentence", component.ID, component.WantedWhen)
		}
	}
}

func TestComponentsRequireNothingButTheirKind(t *testing.T) {
	t.Parallel()
	for _, component := range desired.Table() {
		if component.Requires != "" && !strings.HasSuffix(component.Requires, "."+component.GVK.Group) {
			t.Errorf("%s renders %s and requires %s", component.ID, component.GVK, component.Requires)
		}
	}
}
