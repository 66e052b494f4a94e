// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// TestLabels has rows E-138, E-139, E-172 and E-173.
func TestLabels(t *testing.T) {
	t.Parallel()
	metrics := func(m v1alpha1.TelemetryMetricsConfig) *v1alpha1.TenantTelemetryConfig {
		return &v1alpha1.TenantTelemetryConfig{Metrics: &m}
	}
	standard := []string{"cost_center", "model", "organization_id", "subscription"}
	for name, tc := range map[string]struct {
		spec *v1alpha1.TenantTelemetryConfig
		want []string
	}{
		"nothing said":                {nil, standard},
		"nothing said of metrics":     {&v1alpha1.TenantTelemetryConfig{}, standard},
		"nothing said of any label":   {metrics(v1alpha1.TelemetryMetricsConfig{}), standard},
		"on in so many words":         {&v1alpha1.TenantTelemetryConfig{Enabled: new(true)}, standard},
		"users":                       {metrics(v1alpha1.TelemetryMetricsConfig{CaptureUser: new(true)}), append(slices.Clone(standard), "user")},
		"groups":                      {metrics(v1alpha1.TelemetryMetricsConfig{CaptureGroup: new(true)}), []string{"cost_center", "group", "model", "organization_id", "subscription"}},
		"no organization":             {metrics(v1alpha1.TelemetryMetricsConfig{CaptureOrganization: new(false)}), []string{"cost_center", "model", "subscription"}},
		"no model":                    {metrics(v1alpha1.TelemetryMetricsConfig{CaptureModelUsage: new(false)}), []string{"cost_center", "organization_id", "subscription"}},
		"users of logs are not those": {&v1alpha1.TenantTelemetryConfig{Logs: &v1alpha1.TelemetryLogsConfig{CaptureUser: new(true)}}, standard},
		"off":                         {&v1alpha1.TenantTelemetryConfig{Enabled: new(false), Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureUser: new(true)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(labelsOf(t, tc.spec)))); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if got := len(build(t, input(tenancy.DefaultName, tc.spec))); (got == 0) != (tc.want == nil) {
				t.Errorf("%d objects", got)
			}
		})
	}
}

// TestLogsDependOnNothingElse has row E-174.
func TestLogsDependOnNothingElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec *v1alpha1.TenantTelemetryConfig
		want telemetry.Logs
	}{
		"nothing said":           {nil, telemetry.Logs{Organization: true}},
		"nothing said of logs":   {&v1alpha1.TenantTelemetryConfig{}, telemetry.Logs{Organization: true}},
		"nothing said of fields": {&v1alpha1.TenantTelemetryConfig{Logs: &v1alpha1.TelemetryLogsConfig{}}, telemetry.Logs{Organization: true}},
		"users in logs only": {&v1alpha1.TenantTelemetryConfig{
			Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureUser: new(false)}, Logs: &v1alpha1.TelemetryLogsConfig{CaptureUser: new(true)},
		}, telemetry.Logs{User: true, Organization: true}},
		"organization in metrics only": {&v1alpha1.TenantTelemetryConfig{
			Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureOrganization: new(true), CaptureUser: new(true)}, Logs: &v1alpha1.TelemetryLogsConfig{CaptureOrganization: new(false)},
		}, telemetry.Logs{}},
		"while metrics are off": {&v1alpha1.TenantTelemetryConfig{Enabled: new(false)}, telemetry.Logs{Organization: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, telemetry.SwitchesOf(tc.spec).Logs); diff != "" {
				t.Errorf("logs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesOfTheObjects(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string][]string{
		tenancy.DefaultName: {"openshift-ingress/maas-telemetry", "openshift-ingress/latency-per-subscription"},
		"red":               {"openshift-ingress/maas-telemetry-red", "openshift-ingress/latency-per-subscription-red"},
	} {
		var got []string
		for _, r := range build(t, input(tenant, nil)) {
			got = append(got, r.Namespace+"/"+r.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tenant, diff)
		}
	}
}

// selected is what maas-api answers about a subscription.
func selected(more map[string]any) map[string]any {
	reply := map[string]any{"name": "gold", "namespace": "models-as-a-service", "phase": "Active", "accessAllowed": true, "resolvedModel": "llm/granite"}
	maps.Copy(reply, more)
	return reply
}

// callers are those of each kind, with what maas-api answered.
func callers() map[string]caller {
	key := map[string]any{"valid": true, "userId": "u-1", "username": "alice", "keyId": "k-1", "keyName": "laptop", "groups": []any{"engineers"}, "subscription": "gold"}
	claims := map[string]any{"iss": "https://idp.example.com", "sub": "s-1", "preferred_username": "alice", "azp": "maas", "groups": []any{"engineers"}}
	review := map[string]any{"authenticated": true, "user": map[string]any{"username": "alice", "uid": "x", "groups": []any{"engineers", "system:authenticated"}}}
	billed := map[string]any{"costCenter": "cc-7", "organizationId": "org-9"}
	both := func(k, s map[string]any) map[string]any {
		replies := map[string]any{}
		if k != nil {
			replies["apiKeyValidation"] = k
		}
		if s != nil {
			replies["subscription-info"] = s
		}
		return replies
	}
	return map[string]caller{
		"key, billed":                    {"Bearer sk-oai-a", both(key, selected(billed))},
		"key":                            {"Bearer sk-oai-a", both(key, selected(nil))},
		"key, null fields":               {"Bearer sk-oai-a", both(key, selected(map[string]any{"costCenter": nil, "organizationId": nil}))},
		"JWT, billed":                    {claims, both(nil, selected(billed))},
		"JWT":                            {claims, both(nil, selected(nil))},
		"opaque token, billed":           {review, both(nil, selected(billed))},
		"opaque token":                   {review, both(nil, selected(nil))},
		"opaque token, no subscription":  {review, both(nil, map[string]any{"error": "not_found", "message": "no"})},
		"opaque token, nothing answered": {review, both(nil, nil)},
		"key, nothing answered":          {"Bearer sk-oai-a", both(nil, nil)},
	}
}

// TestEveryLabelHoldsWhatThePolicyMakesKnown evaluates each label as the gateway's filter
// does, of what the generated policies of a model and of maas-api make known of each kind
// of caller (A86).
func TestEveryLabelHoldsWhatThePolicyMakesKnown(t *testing.T) {
	t.Parallel()
	ofModel, ofService := block(t, true), block(t, false)
	labels := labelsOf(t, everything())
	for name, c := range callers() {
		want := map[string]any{"cost_center": "", "group": "system:authenticated,engineers", "model": "", "organization_id": "", "subscription": "", "user": "alice"}
		if !strings.Contains(name, "no subscription") && !strings.Contains(name, "nothing answered") {
			want["subscription"], want["model"] = "gold", "llm/granite"
		}
		if strings.Contains(name, "billed") {
			want["cost_center"], want["organization_id"] = "cc-7", "org-9"
		}
		if name == "key, nothing answered" {
			want["user"], want["group"] = "", "system:authenticated"
		}
		got, served := map[string]any{}, known(t, ofModel, c)
		for label, expression := range labels {
			value, err := eval(t, expression, map[string]any{"auth": seen(t, expression, served)})
			if err != nil {
				t.Errorf("%s: label %s: %v", name, label, err)
			}
			got[label] = value
			plain, err := eval(t, expression, map[string]any{"auth": map[string]any{"identity": any(served)}})
			if err != nil || plain != value {
				t.Errorf("%s: label %s is %v elsewhere, %v", name, label, plain, err)
			}
			if other, err := eval(t, expression, map[string]any{"auth": seen(t, expression, known(t, ofService, c))}); err != nil || !isText(other) {
				t.Errorf("%s at maas-api: label %s is %v, %v", name, label, other, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func isText(value any) bool { _, ok := value.(string); return ok }

// TestNobodyHasLabelsToo is for requests of which Authorino has said nothing.
func TestNobodyHasLabelsToo(t *testing.T) {
	t.Parallel()
	for label, expression := range labelsOf(t, everything()) {
		for name, auth := range map[string]any{"in the filter": seen(t, expression, nil), "elsewhere": map[string]any{}} {
			if value, err := eval(t, expression, map[string]any{"auth": auth}); err != nil || value != "" {
				t.Errorf("label %s %s is %v, %v", label, name, value, err)
			}
		}
	}
}

// TestLabelsNameWhatThereIs compares the properties that labels name with those of the
// generated policy of a model.
func TestLabelsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, property := range block(t, true) {
		made[property.Name] = true
	}
	for label, expression := range labelsOf(t, everything()) {
		names := path.FindAllString(expression, -1)
		if len(names) == 0 {
			t.Errorf("label %s names nothing: %s", label, expression)
		}
		for _, name := range names {
			if steps := strings.Split(name, "."); steps[1] != "identity" || !made[steps[2]] {
				t.Errorf("label %s names %s, which no policy makes known", label, name)
			}
		}
		if strings.Contains(expression, "responseBodyJSON") || strings.Contains(expression, "request.") {
			t.Errorf("label %s depends on what a model or a client says: %s", label, expression)
		}
	}
}

// TestNoClientMakesSeries has what clients can do with the header behind the tag of
// latencies.
func TestNoClientMakesSeries(t *testing.T) {
	t.Parallel()
	tag := tagOf(t)
	for name, tc := range map[string]struct {
		path    string
		code    int64
		headers map[string]any
		want    string
	}{
		"a model's answer":                         {"/llm/granite/v1/chat/completions", 200, map[string]any{"x-maas-subscription": "gold"}, "gold"},
		"a model's answer after a rewrite":         {"/v1/chat/completions", 200, map[string]any{"x-maas-subscription": "gold"}, "gold"},
		"a model without subscription":             {"/llm/granite/v1/chat/completions", 200, map[string]any{}, ""},
		"refused by name":                          {"/llm/granite/v1/chat/completions", 401, map[string]any{"x-maas-subscription": "forged"}, ""},
		"refused":                                  {"/llm/granite/v1/chat/completions", 403, map[string]any{"x-maas-subscription": "forged"}, ""},
		"nobody is known":                          {"/llm/granite/v1/chat/completions", 429, map[string]any{"x-maas-subscription": "forged"}, ""},
		"the authorization server does not answer": {"/llm/granite/v1/chat/completions", 500, map[string]any{"x-maas-subscription": "forged"}, ""},
		"no route":                                 {"/nowhere", 404, map[string]any{"x-maas-subscription": "forged"}, ""},
		"without credentials at maas-api":          {"/maas-api/health", 200, map[string]any{"x-maas-subscription": "forged"}, ""},
		"the same after its path was replaced":     {"/health", 200, map[string]any{"x-maas-subscription": "forged"}, ""},
		"with a token at maas-api":                 {"/v1/models", 200, map[string]any{"x-maas-subscription": "forged"}, ""},
		"with a token at maas-api, below a path":   {"/v1/api-keys/1", 201, map[string]any{"x-maas-subscription": "forged"}, ""},
		"a longer name at maas-api":                {"/maas-api/v1/subscriptions", 200, map[string]any{"x-maas-subscription": "forged"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := eval(t, tag, map[string]any{
				"request": map[string]any{"url_path": tc.path, "headers": tc.headers}, "response": map[string]any{"code": tc.code},
			})
			if err != nil || got != tc.want {
				t.Errorf("tag = %v, %v, want %q", got, err, tc.want)
			}
		})
	}
}
