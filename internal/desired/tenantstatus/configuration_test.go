// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus_test

import (
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
)

func TestALargeConfigurationIsAWarning(t *testing.T) {
	t.Parallel()
	const object = "EnvoyFilter gateways/kuadrant-red"
	for name, test := range map[string]struct {
		bytes int
		want  string // A part of the warning; empty for none.
	}{
		"there is none":           {0, ""},
		"one byte below half":     {tenantstatus.MaxConfiguration/2 - 1, ""},
		"half":                    {tenantstatus.MaxConfiguration / 2, object + ", which Kuadrant generates for the Gateway, has reached 50 percent of the 1.5 MiB"},
		"tenths only":             {tenantstatus.MaxConfiguration*79/100 + 1, "has reached 70 percent"},
		"all":                     {tenantstatus.MaxConfiguration, "has reached 100 percent"},
		"of a more patient store": {tenantstatus.MaxConfiguration * 3, "has reached 100 percent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warned := tenantstatus.Configuration{Object: object, Bytes: test.bytes}.Warning()
			switch {
			case warned != (test.want != ""):
				t.Errorf("Warning() = %+v, %t, want one: %t", got, warned, test.want != "")
			case warned && got.Reason != v1alpha1.ReasonGatewayConfigurationLarge:
				t.Errorf("reason = %s", got.Reason)
			case !strings.Contains(got.Message, test.want):
				t.Errorf("message = %q, want %q in it", got.Message, test.want)
			}
		})
	}
}

// The longest names are 63 and 253 characters long.
func TestTheWarningFitsAMessage(t *testing.T) {
	t.Parallel()
	object := "EnvoyFilter " + strings.Repeat("n", 63) + "/" + strings.Repeat("g", 253)
	got, _ := tenantstatus.Configuration{Object: object, Bytes: tenantstatus.MaxConfiguration}.Warning()
	if conditions.Truncate(got.Message) != got.Message {
		t.Errorf("the message has %d bytes, and loses its end", len(got.Message))
	}
}
