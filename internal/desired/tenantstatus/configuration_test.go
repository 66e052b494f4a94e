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
			got := tenantstatus.Configuration{Object: object, Bytes: test.bytes}.Warnings()
			switch {
			case (len(got) == 1) != (test.want != ""):
				t.Errorf("Warnings() = %+v, want one: %t", got, test.want != "")
			case test.want == "":
			case got[0].Reason != v1alpha1.ReasonGatewayConfigurationLarge:
				t.Errorf("reason = %s", got[0].Reason)
			case !strings.Contains(got[0].Message, test.want):
				t.Errorf("message = %q, want %q in it", got[0].Message, test.want)
			}
		})
	}
}

// However small it is: one that was refused stays as it was.
func TestAnIncompleteConfigurationIsAWarning(t *testing.T) {
	t.Parallel()
	got := tenantstatus.Configuration{Object: "EnvoyFilter gateways/kuadrant-red", Bytes: 10, Missing: "llm/granite"}.Warnings()
	if len(got) != 1 || got[0].Reason != v1alpha1.ReasonGatewayConfigurationIncomplete || !strings.Contains(got[0].Message, "for instance llm/granite: they are open to everybody") {
		t.Errorf("Warnings() = %+v", got)
	}
}

// A Gateway without one lets everything pass.
func TestAConfigurationThatDoesNotExistIsAWarning(t *testing.T) {
	t.Parallel()
	got := tenantstatus.Configuration{Object: "EnvoyFilter gateways/kuadrant-red", Missing: "llm/granite"}.Warnings()
	if len(got) != 1 || got[0].Reason != v1alpha1.ReasonGatewayConfigurationIncomplete || !strings.HasPrefix(got[0].Message, "EnvoyFilter gateways/kuadrant-red, which Kuadrant generates for the Gateway, does not exist") ||
		!strings.Contains(got[0].Message, "llm/granite: they are open to everybody") {
		t.Errorf("Warnings() = %+v", got)
	}
}

// The longest names are 63 and 253 characters long.
func TestTheWarningsFitAMessage(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 63) + "/" + strings.Repeat("g", 253)
	for _, got := range (tenantstatus.Configuration{Object: "EnvoyFilter " + name, Bytes: tenantstatus.MaxConfiguration, Missing: name}).Warnings() {
		if conditions.Truncate(got.Message) != got.Message {
			t.Errorf("%s has %d bytes, and loses its end", got.Reason, len(got.Message))
		}
	}
}
