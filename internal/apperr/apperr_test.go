// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apperr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

type reason string

const reasonBroken reason = "Broken"

func TestErrorsAreFoundThroughWrapping(t *testing.T) {
	t.Parallel()

	wrap := func(err error) error { return errors.Join(errors.New("other"), fmt.Errorf("read route: %w", err)) }

	if e, ok := apperr.AsUser(wrap(apperr.Userf(reasonBroken, "spec.%s is empty", "name"))); !ok || e.Reason != "Broken" || e.Message != "spec.name is empty" {
		t.Errorf("AsUser = %+v, %v", e, ok)
	}
	cause := errors.New("connection refused")
	err := wrap(apperr.Unchecked(reasonBroken, cause))
	if e, ok := apperr.AsUnchecked(err); !ok || e.Reason != "Broken" {
		t.Errorf("AsUnchecked = %+v, %v", e, ok)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause of an unchecked error is lost")
	}
	if _, ok := apperr.AsUser(err); ok {
		t.Error("an unchecked error was taken for the user's")
	}
}

func TestUncheckedOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	if err := apperr.Unchecked(reasonBroken, nil); err != nil {
		t.Errorf("got %v", err)
	}
}
