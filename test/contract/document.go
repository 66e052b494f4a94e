// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/openapi"
)

// Document is a valid OpenAPI document whose operations can be found by request.
type Document struct {
	// Spec is the document. Its answers are closed: members that are not
	// described are errors, which the document itself does not say, because
	// clients have to tolerate later additions.
	Spec *openapi3.T

	mux    *http.ServeMux
	routes map[string]*routers.Route // by pattern of the mux
}

// Public is the document that clients are given.
func Public(ctx context.Context) (*Document, error) { return Load(ctx, openapi.Spec()) }

// Internal is the document of the routes of the gateway and of jobs.
func Internal(ctx context.Context) (*Document, error) { return Load(ctx, openapi.InternalSpec()) }

// Load reads and validates a document, its examples included.
func Load(ctx context.Context, text []byte) (*Document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	if err := spec.Validate(ctx, openapi3.EnableExamplesValidation(), openapi3.EnableSchemaPatternValidation()); err != nil {
		return nil, fmt.Errorf("validate document: %w", err)
	}
	d := &Document{Spec: spec, mux: http.NewServeMux(), routes: make(map[string]*routers.Route)}
	for path, item := range spec.Paths.Map() {
		for method, operation := range item.Operations() {
			d.close(operation)
			pattern := method + " " + path
			d.routes[pattern] = &routers.Route{Spec: spec, Path: path, PathItem: item, Method: method, Operation: operation}
			d.mux.Handle(pattern, http.NotFoundHandler())
		}
	}
	// With the examples against the closed answers now.
	if err := spec.Validate(ctx, openapi3.EnableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("validate examples of answers: %w", err)
	}
	return d, nil
}

// Operations returns "METHOD /path" of every operation, sorted.
func (d *Document) Operations() []string { return slices.Sorted(maps.Keys(d.routes)) }

// find returns the operation a request is for and the values in its path.
func (d *Document) find(r *http.Request) (*routers.Route, map[string]string) {
	_, pattern := d.mux.Handler(r)
	route := d.routes[pattern]
	if route == nil {
		return nil, nil
	}
	values := make(map[string]string)
	have := strings.Split(r.URL.Path, "/")
	for i, part := range strings.Split(route.Path, "/") {
		if strings.HasPrefix(part, "{") && i < len(have) {
			values[strings.Trim(part, "{}")] = have[i]
		}
	}
	return route, values
}

// close forbids members that are not described in the operation's answers.
func (d *Document) close(operation *openapi3.Operation) {
	for _, response := range operation.Responses.Map() {
		for _, media := range response.Value.Content {
			Walk(media.Schema, func(s *openapi3.Schema) {
				if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
					s.AdditionalProperties.Has = new(false)
				}
			})
		}
	}
}

// Walk visits a schema and all that it is made of.
func Walk(ref *openapi3.SchemaRef, visit func(*openapi3.Schema)) {
	if ref == nil || ref.Value == nil {
		return
	}
	s := ref.Value
	visit(s)
	for _, property := range s.Properties {
		Walk(property, visit)
	}
	for _, part := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf, openapi3.SchemaRefs{s.Items, s.Not, s.AdditionalProperties.Schema}) {
		Walk(part, visit)
	}
}
