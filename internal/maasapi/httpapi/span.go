// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracing is what the middlewares need to write spans.
type Tracing struct {
	Tracer     trace.Tracer
	Propagator propagation.TextMapPropagator
	// Attributes are put on every span: the tenant and its gateway.
	Attributes []attribute.KeyValue
}

// begin starts the span of a request as a child of the caller's.
func (t *Tracing) begin(ctx context.Context, r *http.Request, e *endpoint) (context.Context, trace.Span) {
	ctx = t.Propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
	name := Unmatched
	if e.route.Pattern != "" {
		name = e.route.Method + " " + e.name
	}
	return t.Tracer.Start(ctx, name,
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(t.Attributes...),
		trace.WithAttributes(attribute.String("http.method", verb(r.Method)), attribute.String("http.route", e.name)))
}

func endSpan(span trace.Span, status int) {
	span.SetAttributes(attribute.Int("http.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}
