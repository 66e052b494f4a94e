// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// noKeys is a service without keys.
type noKeys struct{}

func (noKeys) Get(context.Context, apikey.Digest) (*apikey.Record, error) {
	return nil, apikey.ErrNotFound
}
func (noKeys) Now() time.Time         { return time.Time{} }
func (noKeys) Seen(string, time.Time) {}

// at finds a schema: the first step names a component, the others members; "[]"
// stands for the items of an array.
func at(t *testing.T, spec *openapi3.T, steps ...string) *openapi3.Schema {
	t.Helper()
	ref := spec.Components.Schemas[steps[0]]
	for _, step := range steps[1:] {
		switch {
		case ref == nil:
		case step == "[]":
			ref = ref.Value.Items
		default:
			ref = ref.Value.Properties[step]
		}
	}
	if ref == nil {
		t.Fatalf("the document has no schema %v", steps)
	}
	return ref.Value
}

// bodyCase says which schema describes a struct.
type bodyCase struct {
	schema *openapi3.Schema
	// request: members need not be sent, whatever the struct says.
	request bool
	// more are members that are written beside the struct.
	more []string
	// always are members that are never left out although they could be.
	always []string
}

// bodyCases are the structs with JSON tags in the packages that decode and encode.
func bodyCases(t *testing.T) map[string]bodyCase {
	t.Helper()
	public, internal := documents(t)
	p := func(steps ...string) bodyCase { return bodyCase{schema: at(t, public.Spec, steps...)} }
	in := func(steps ...string) bodyCase {
		return bodyCase{schema: at(t, public.Spec, steps...), request: true}
	}
	cleaned := internal.Spec.Paths.Value("/internal/v1/api-keys/cleanup").Post.Responses.Status(200)
	model := p("Model")
	model.always = []string{"subscriptions"}
	return map[string]bodyCase{
		"keyapi.createRequest": in("CreateKey"),
		"keyapi.createdBody":   p("CreatedKey"),
		"keyapi.keyBody":       p("Key"),
		"keyapi.configBody":    p("KeyConfig"),
		"keyapi.searchRequest": in("SearchKeys"),
		"keyapi.filters":       in("SearchKeys", "filters"),
		"keyapi.order":         in("SearchKeys", "sort"),
		"keyapi.pagination":    in("SearchKeys", "pagination"),
		"keyapi.listBody":      p("KeyList"),
		"keyapi.bulkRequest":   in("BulkRevoke"),
		"keyapi.revokedBody":   p("BulkRevoked"),
		"keyapi.cleanedBody":   {schema: cleaned.Value.Content["application/json"].Schema.Value},

		"discovery.modelList":  p("ModelList"),
		"catalog.Model":        model,
		"catalog.Details":      p("Model", "modelDetails"),
		"catalog.Subscription": p("Model", "subscriptions", "[]"),
		"discovery.tenantList": p("TenantList"),
		"discovery.tenant":     p("TenantList", "tenants", "[]"),
		"discovery.gateway":    p("TenantList", "tenants", "[]", "gateway"),

		"subscription.Item":        p("Subscription"),
		"subscription.ModelRef":    p("ModelRef"),
		"subscription.Limit":       p("ModelRef", "token_rate_limits", "[]"),
		"subscription.BillingRate": p("ModelRef", "billing_rate"),
		"subscription.selected": {
			schema: at(t, internal.Spec, "Selected"), more: []string{"resolvedModel", "subscriptionKey", "subscriptionId", "accessAllowed"},
			always: []string{"accessAllowed"},
		},

		"httpapi.flatError":     p("Error"),
		"httpapi.typedError":    p("TypedError"),
		"httpapi.typedDetail":   p("TypedError", "error"),
		"httpapi.authFailure":   p("AuthFailure"),
		"httpapi.detailedError": p("DetailedError"),
		"httpapi.decisionError": {schema: at(t, internal.Spec, "Decision"), more: []string{"accessAllowed", "phase", "ready"}},
	}
}

func TestEveryMemberOfABodyIsDescribed(t *testing.T) {
	t.Parallel()
	cases := bodyCases(t)
	found := bodies(t, "internal/maasapi/httpapi", "internal/maasapi/subscription", "internal/maasapi/catalog")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(cases)), slices.Sorted(maps.Keys(found))); diff != "" {
		t.Fatalf("structs with JSON tags (-known here +found):\n%s", diff)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names, required := slices.Clone(test.more), slices.Clone(test.always)
			for _, m := range found[name] {
				names = append(names, m.name)
				if !m.optional && !test.request {
					required = append(required, m.name)
				}
			}
			slices.Sort(names)
			slices.Sort(required)
			if diff := cmp.Diff(names, slices.Sorted(maps.Keys(test.schema.Properties))); diff != "" {
				t.Errorf("members (-code +document):\n%s", diff)
			}
			if diff := cmp.Diff(required, slices.Sorted(slices.Values(test.schema.Required))); !test.request && diff != "" {
				t.Errorf("members that are always there (-code +document):\n%s", diff)
			}
		})
	}
}

// Both documents describe the models of a subscription.
func TestBothDocumentsDescribeModelReferencesAlike(t *testing.T) {
	t.Parallel()
	public, internal := documents(t)
	left, right := at(t, public.Spec, "ModelRef"), at(t, internal.Spec, "ModelRef")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(left.Properties)), slices.Sorted(maps.Keys(right.Properties))); diff != "" {
		t.Errorf("members (-public +internal):\n%s", diff)
	}
}
