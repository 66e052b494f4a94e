// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
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

// TestUnsafeSettingsAreWarnings has failure A89: what Kuadrant does unless it is told
// otherwise is a warning for each of two settings.
func TestUnsafeSettingsAreWarnings(t *testing.T) {
	t.Parallel()
	const (
		authMode  = "AUTH_SERVICE_FAILURE_MODE=deny"
		authTime  = "AUTH_SERVICE_TIMEOUT"
		limitMode = "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny"
	)
	type services = map[string]kuadrant.Service
	mode := func(mode string, timeout time.Duration) kuadrant.Service {
		return kuadrant.Service{FailureMode: mode, Timeout: timeout}
	}
	for name, test := range map[string]struct {
		services services
		want     []string
	}{
		"it does not say":                    {nil, nil},
		"of other things":                    {services{"tracing-service": {FailureMode: "allow", Timeout: 1}}, nil},
		"patient, and closed":                {services{"auth-service": mode("deny", 5*time.Second), "ratelimit-check-service": mode("deny", 100*time.Millisecond)}, nil},
		"as Kuadrant comes":                  {services{"auth-service": mode("deny", 200*time.Millisecond), "ratelimit-check-service": mode("allow", 100*time.Millisecond)}, []string{authTime, limitMode}},
		"hardly more patient":                {services{"auth-service": mode("deny", 201*time.Millisecond)}, nil},
		"a time that is not known":           {services{"auth-service": {FailureMode: "deny"}}, nil},
		"open while Authorino is away":       {services{"auth-service": mode("allow", 5*time.Second)}, []string{authMode}},
		"in a way that is not known":         {services{"auth-service": {FailureMode: "perhaps"}}, []string{authMode}},
		"open and hasty, and nothing counts": {services{"auth-service": mode("allow", time.Millisecond), "ratelimit-check-service": {FailureMode: "allow"}}, []string{authMode, authTime, limitMode}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tenantstatus.Configuration{Object: "EnvoyFilter gateways/kuadrant-red", Bytes: 10, Services: test.services}.Warnings()
			if len(got) != len(test.want) {
				t.Fatalf("Warnings() = %+v, want %d", got, len(test.want))
			}
			for i, w := range got {
				if w.Reason != v1alpha1.ReasonGatewayConfigurationUnsafe || !strings.HasPrefix(w.Message, "EnvoyFilter gateways/kuadrant-red, ") || !strings.Contains(w.Message, test.want[i]) {
					t.Errorf("warning %+v, want one that names %s", w, test.want[i])
				}
			}
		})
	}
}

// The longest names are 63 and 253 characters long.
func TestTheWarningsFitAMessage(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 63) + "/" + strings.Repeat("g", 253)
	unsafe := map[string]kuadrant.Service{kuadrant.AuthService: {FailureMode: "allow", Timeout: 1}, kuadrant.LimitService: {FailureMode: "allow"}}
	for _, got := range (tenantstatus.Configuration{Object: "EnvoyFilter " + name, Bytes: tenantstatus.MaxConfiguration, Missing: name, Services: unsafe}).Warnings() {
		if conditions.Truncate(got.Message) != got.Message {
			t.Errorf("%s has %d bytes, and loses its end", got.Reason, len(got.Message))
		}
	}
}
