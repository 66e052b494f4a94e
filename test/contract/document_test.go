// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/opendatahub-io/maas-operator/test/contract"
)

// documents returns both documents, which loading validates.
func documents(t *testing.T) (public, internal *contract.Document) {
	t.Helper()
	public, err := contract.Public(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	internal, err = contract.Internal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return public, internal
}

// each calls visit with every operation of both documents.
func each(t *testing.T, visit func(name string, path *openapi3.PathItem, o *openapi3.Operation)) {
	t.Helper()
	public, internal := documents(t)
	for _, d := range []*contract.Document{public, internal} {
		for path, item := range d.Spec.Paths.Map() {
			for method, operation := range item.Operations() {
				visit(method+" "+path, item, operation)
			}
		}
	}
}

func TestDocumentsAreValidWithTheirExamples(t *testing.T) {
	t.Parallel()
	public, internal := documents(t)
	if len(public.Operations()) < 10 || len(internal.Operations()) < 4 {
		t.Errorf("operations = %v and %v, want the whole service", public.Operations(), internal.Operations())
	}
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	head := "openapi: 3.0.3\ninfo: {title: t, version: v1}\npaths:\n  /a:\n    get:\n      responses:\n"
	for name, answer := range map[string]string{
		"no description": `        '200': {content: {}}`,
		"an example of the wrong type": `        '200': {description: d, content: {application/json: {` +
			`schema: {type: object, properties: {a: {type: string}}}, example: {a: 1}}}}`,
		"an example with a member that is not described": `        '200': {description: d, content: {application/json: {` +
			`schema: {type: object, properties: {a: {type: string}}}, example: {b: ''}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := contract.Load(t.Context(), []byte(head+answer)); err == nil {
				t.Error("Load accepts it")
			}
		})
	}
}

func TestThePublicDocumentTellsNothingOfInternalPaths(t *testing.T) {
	t.Parallel()
	public, internal := documents(t)
	text, err := public.Spec.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for path := range internal.Spec.Paths.Map() {
		if strings.Contains(string(text), path) {
			t.Errorf("the public document has %s", path)
		}
	}
	if strings.Contains(string(text), "/internal/") {
		t.Error("the public document mentions /internal/")
	}
}

func TestRequestsMayHaveMembersThatAreNotDescribed(t *testing.T) {
	t.Parallel()
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		if o.RequestBody == nil {
			return
		}
		for _, media := range o.RequestBody.Value.Content {
			contract.Walk(media.Schema, func(s *openapi3.Schema) {
				if s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has {
					t.Errorf("%s forbids unknown members beside %v", name, s.Properties)
				}
			})
		}
	})
}

func TestEveryOperationHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		if o.OperationID == "" || o.Summary == "" || len(o.Tags) != 1 {
			t.Errorf("%s has no operationId, no summary or not one tag", name)
		}
		if other := seen[o.OperationID]; other != "" {
			t.Errorf("%s and %s have the same operationId", name, other)
		}
		seen[o.OperationID] = name
	})
}

func TestEveryAnswerNamesItsRequest(t *testing.T) {
	t.Parallel()
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		for status, response := range o.Responses.Map() {
			if header := response.Value.Headers["X-Request-ID"]; header == nil || !header.Value.Required {
				t.Errorf("%s %s has no X-Request-ID", name, status)
			}
		}
	})
}

func TestEveryBodyHasABound(t *testing.T) {
	t.Parallel()
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		if o.RequestBody != nil && o.Responses.Status(http.StatusRequestEntityTooLarge) == nil {
			t.Errorf("%s takes a body and never answers 413", name)
		}
	})
}

func TestEveryJSONBodyHasAnExample(t *testing.T) {
	t.Parallel()
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		if o.OperationID == "getOpenAPI" {
			return // Its answer is the document itself.
		}
		bodies := map[string]openapi3.Content{}
		if o.RequestBody != nil {
			bodies["request"] = o.RequestBody.Value.Content
		}
		for status, response := range o.Responses.Map() {
			bodies[status] = response.Value.Content
		}
		for which, content := range bodies {
			if media := content["application/json"]; media != nil && media.Example == nil && len(media.Examples) == 0 {
				t.Errorf("%s: %s has no example", name, which)
			}
		}
	})
}

// What is personal must not be kept by proxies, and what holds a secret even less;
// only the description itself may be kept by whoever asks again.
func TestOnlyTheDescriptionMayBeStored(t *testing.T) {
	t.Parallel()
	each(t, func(name string, _ *openapi3.PathItem, o *openapi3.Operation) {
		if strings.Contains(name, " /docs") || strings.HasSuffix(name, "/openapi.json") {
			return
		}
		for status, response := range o.Responses.Map() {
			header := response.Value.Headers["Cache-Control"]
			if header == nil || !header.Value.Required || !slices.Equal(header.Value.Schema.Value.Enum, []any{"no-store"}) {
				t.Errorf("%s %s may be stored", name, status)
			}
		}
	})
}
