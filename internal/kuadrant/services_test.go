// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// asKuadrantWrites is what Kuadrant 1.5 writes unless it is told otherwise, without what
// is of no interest here.
const asKuadrantWrites = `{"requestData":{},"services":{` +
	`"auth-service":{"endpoint":"kuadrant-auth-service","type":"auth","failureMode":"deny","timeout":"200ms"},` +
	`"ratelimit-check-service":{"endpoint":"kuadrant-ratelimit-service","type":"ratelimit-check","failureMode":"allow","timeout":"100ms"}},` +
	`"actionSets":[{"name":"x","routeRuleConditions":{"hostnames":["*"]},"actions":[]}]}`

// inEnvoyFilter and inWasmPlugin are where it stands.
func inEnvoyFilter(configuration string) any {
	return map[string]any{"kind": "EnvoyFilter", "spec": map[string]any{"configPatches": []any{
		map[string]any{"applyTo": "CLUSTER"},
		map[string]any{"applyTo": "HTTP_FILTER", "patch": map[string]any{"value": map[string]any{"typed_config": map[string]any{"value": map[string]any{"config": map[string]any{
			"configuration": map[string]any{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": configuration},
		}}}}}},
	}}}
}

func inWasmPlugin(t *testing.T, configuration string) any {
	t.Helper()
	var config any
	if err := json.Unmarshal([]byte(configuration), &config); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"kind": "WasmPlugin", "spec": map[string]any{"pluginConfig": config}}
}

// text is an object as it is read.
func text(t *testing.T, object any) string {
	t.Helper()
	stored, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(stored)
}

func TestServices(t *testing.T) {
	t.Parallel()
	type services = map[string]kuadrant.Service
	defaults := services{"auth-service": {FailureMode: "deny", Timeout: 200 * time.Millisecond}, "ratelimit-check-service": {FailureMode: "allow", Timeout: 100 * time.Millisecond}}
	for name, tc := range map[string]struct {
		stored string
		want   services
	}{
		"there is none":                    {"", nil},
		"as an EnvoyFilter has them":       {text(t, inEnvoyFilter(asKuadrantWrites)), defaults},
		"as a WasmPlugin has them":         {text(t, inWasmPlugin(t, asKuadrantWrites)), defaults},
		"by themselves":                    {asKuadrantWrites, defaults},
		"without times":                    {`{"services":{"auth-service":{"failureMode":"deny"}}}`, services{"auth-service": {FailureMode: "deny"}}},
		"with a time that is none":         {`{"services":{"auth-service":{"failureMode":"deny","timeout":"soon"}}}`, services{"auth-service": {FailureMode: "deny"}}},
		"with a time that is a number":     {`{"services":{"auth-service":{"failureMode":"deny","timeout":200}}}`, services{"auth-service": {FailureMode: "deny"}}},
		"one that is something else":       {`{"services":{"a":"failureMode","b":{"failureMode":true},"c":{"failureMode":"allow"}}}`, services{"c": {FailureMode: "allow"}}},
		"services of somebody else":        {`{"a":{"services":["failureMode"]},"b":{"services":{"c":{"failureMode":"allow"}}}}`, services{"c": {FailureMode: "allow"}}},
		"none at all":                      {`{"services":{}}`, nil},
		"a word in a text that is no JSON": {`{"value":"failureMode"}`, nil},
		"no JSON":                          {"failureMode", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, kuadrant.Services(tc.stored)); diff != "" {
				t.Errorf("Services() (-want +got):\n%s", diff)
			}
		})
	}
}

// What others write into an object is never a reason to fail, and how it is nested makes
// no difference.
func FuzzServices(f *testing.F) {
	f.Add(asKuadrantWrites)
	f.Add(`{"services":{"auth-service":{"failureMode":"deny","timeout":"9999999h"}}}`)
	f.Fuzz(func(t *testing.T, configuration string) {
		if diff := cmp.Diff(kuadrant.Services(configuration), kuadrant.Services(text(t, inEnvoyFilter(configuration)))); diff != "" && json.Valid([]byte(configuration)) {
			t.Errorf("inside of an EnvoyFilter (-before +after):\n%s", diff)
		}
	})
}
