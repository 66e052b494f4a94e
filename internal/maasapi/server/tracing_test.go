// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const sampledParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// spans returns what a tracer writes for a request with and one without a parent.
func spans(t *testing.T, rate float64) tracetest.SpanStubs {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracer := newTracer(TracingOptions{SampleRate: rate, Namespace: "ns", Attributes: []attribute.KeyValue{attribute.String("tenant.name", "blue")}}, sdktrace.WithSyncer(exporter))
	for _, parent := range []string{sampledParent, ""} {
		header := http.Header{"Traceparent": {parent}, "Baggage": {"user=ann"}}
		ctx := tracer.Tracing().Propagator.Extract(t.Context(), propagation.HeaderCarrier(header))
		_, span := tracer.Tracing().Tracer.Start(ctx, "a")
		span.End()
	}
	got := exporter.GetSpans()
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return got
}

func TestTracerNamesTheService(t *testing.T) {
	t.Parallel()
	got := spans(t, 1)
	if len(got) != 2 {
		t.Fatalf("%d spans", len(got))
	}
	set := got[0].Resource.Set()
	name, _ := set.Value("service.name")
	namespace, _ := set.Value("service.namespace")
	if name.AsString() != "maas-api" || namespace.AsString() != "ns" {
		t.Errorf("resource is %v", set)
	}
	if got[0].Parent.SpanID().String() != "00f067aa0ba902b7" {
		t.Error("the caller's span is not the parent")
	}
}

func TestCallersDecisionToTraceWins(t *testing.T) {
	t.Parallel()
	if got := spans(t, 0); len(got) != 1 || !got[0].Parent.IsValid() {
		t.Errorf("%d spans", len(got))
	}
}

func TestTracerWithoutAnEndpointThatAnswers(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"127.0.0.1:1", "http://127.0.0.1:1"} {
		tracer, err := NewTracer(t.Context(), TracingOptions{Endpoint: endpoint, Insecure: true, SampleRate: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := tracer.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
