// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const infra = "odh-ai-gateway-infra"

func tenantOf(name string) tenancy.Context {
	if name == tenancy.DefaultName {
		return tenancy.Context{Name: name, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}}
	}
	return tenancy.Context{Name: name, ID: name, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: name + "-gateway"}}
}

func input(name string, spec *v1alpha1.TenantTelemetryConfig) telemetry.Input {
	return telemetry.Input{Tenant: tenantOf(name), Spec: spec, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}}
}

func build(t *testing.T, in telemetry.Input) []render.Request {
	t.Helper()
	requests, err := telemetry.Build(in)
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	return requests
}

// everything is a configuration with every label.
func everything() *v1alpha1.TenantTelemetryConfig {
	return &v1alpha1.TenantTelemetryConfig{Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureUser: new(true), CaptureGroup: new(true)}}
}

// labelsOf are the labels of metrics, by name.
func labelsOf(t *testing.T, spec *v1alpha1.TenantTelemetryConfig) map[string]string {
	t.Helper()
	labels := map[string]string{}
	for _, r := range build(t, input(tenancy.DefaultName, spec)) {
		if policy, ok := r.Values.(values.GatewayTelemetryPolicy); ok {
			for _, l := range policy.MetricLabels {
				labels[l.Name] = l.Expression
			}
		}
	}
	return labels
}

// tagOf is the expression of the tag of latencies.
func tagOf(t *testing.T) string {
	t.Helper()
	for _, r := range build(t, input(tenancy.DefaultName, nil)) {
		if latency, ok := r.Values.(values.GatewayTelemetry); ok {
			return latency.Subscription
		}
	}
	t.Fatal("no Telemetry is wanted")
	return ""
}

// block is what the policy of a model, or that of maas-api, makes known of a caller.
func block(t *testing.T, ofModel bool) []values.NamedExpression {
	t.Helper()
	tenant := tenantOf(tenancy.DefaultName)
	tenant.OIDC = &tenancy.OIDC{IssuerURL: "https://idp.example.com", ClientID: "maas", TTLSeconds: 300}
	if !ofModel {
		request, err := access.MaaSAPIPolicy(access.Input{Tenant: tenant, AcceptKeyHeader: true, Settings: access.Settings{InfraNamespace: infra, Audience: "cluster"}})
		policy, ok := request.Values.(values.MaaSAPIAuthPolicy)
		if err != nil || !ok {
			t.Fatalf("MaaSAPIPolicy() = %T, %v", request.Values, err)
		}
		return policy.Identity
	}
	policy := &v1alpha1.MaaSAuthPolicy{}
	policy.Namespace, policy.Name = tenancy.DefaultName, "team"
	policy.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: "llm", Name: "granite"}}
	policy.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	out, err := model.Build(model.Input{
		Model: types.NamespacedName{Namespace: "llm", Name: "granite"}, Route: "granite-route", Tenant: tenant,
		AuthPolicies: []model.AuthPolicy{{Object: policy, Tenant: tenancy.DefaultName}},
		Settings:     model.Settings{InfraNamespace: infra, Audience: "cluster", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60},
	})
	if err != nil || out.AuthPolicy == nil {
		t.Fatalf("model.Build() = %v, %v", out, err)
	}
	return out.AuthPolicy.Identity
}

// caller is what Authorino knows of a request.
type caller struct {
	identity any
	metadata map[string]any
}

// known is what Authorino makes known of a caller by a block: all of it or nothing.
func known(t *testing.T, properties []values.NamedExpression, c caller) map[string]any {
	t.Helper()
	object := cel.ObjectType("google.protobuf.Struct")
	env, err := cel.NewEnv(cel.Variable("request", object), cel.Variable("auth", object), ext.Strings(), cel.OptionalTypes())
	if err != nil {
		t.Fatal(err)
	}
	auth := map[string]any{"identity": c.identity, "metadata": c.metadata}
	in := map[string]any{"auth": structOf(t, auth), "request": structOf(t, map[string]any{"headers": map[string]any{}})}
	out := map[string]any{}
	for _, property := range properties {
		checked, issues := env.Compile(property.Expression)
		if issues.Err() != nil {
			t.Fatalf("%s: %v", property.Name, issues.Err())
		}
		program, err := env.Program(checked)
		if err != nil {
			t.Fatalf("%s: %v", property.Name, err)
		}
		value, _, err := program.Eval(in)
		if err != nil {
			t.Fatalf("%s: %v", property.Name, err)
		}
		native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
		if err != nil {
			t.Fatalf("%s: %v", property.Name, err)
		}
		if v, ok := native.(*structpb.Value); ok {
			out[property.Name] = v.AsInterface()
		}
	}
	return out
}

func structOf(t *testing.T, value map[string]any) *structpb.Struct {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	parsed := &structpb.Struct{}
	if err := protojson.Unmarshal(raw, parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// eval evaluates an expression in plain CEL.
func eval(t *testing.T, expression string, variables map[string]any) (any, error) {
	t.Helper()
	var options []cel.EnvOption
	for name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("compile %s: %v", expression, issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		t.Fatalf("plan %s: %v", expression, err)
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		return nil, err
	}
	return value.Value(), nil
}

var path = regexp.MustCompile(`\bauth(\.\w+)+`)

// seen is what the gateway's filter shows an expression of what is known: exactly what it
// names, null where there is none or where it is no scalar. Of two names of which one is
// the beginning of the other only the shorter is shown.
func seen(t *testing.T, expression string, identity map[string]any) map[string]any {
	t.Helper()
	names := path.FindAllString(expression, -1)
	root := map[string]any{}
	for _, name := range names {
		for _, other := range names {
			if other != name && strings.HasPrefix(other, name+".") {
				t.Fatalf("%s hides %s in %s", name, other, expression)
			}
		}
		steps := strings.Split(name, ".")[1:]
		node := root
		for _, step := range steps[:len(steps)-1] {
			if _, there := node[step]; !there {
				node[step] = map[string]any{}
			}
			node, _ = node[step].(map[string]any)
		}
		node[steps[len(steps)-1]] = scalar(map[string]any{"identity": any(identity)}, steps)
	}
	return root
}

func scalar(value any, steps []string) any {
	for _, step := range steps {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[step]
	}
	switch value.(type) {
	case map[string]any, []any:
		return nil
	}
	return value
}
