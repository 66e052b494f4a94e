// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

// serviceName is what traces and database connections call this program.
const serviceName = "maas-api"

// TracingOptions say where spans go and what they carry.
type TracingOptions struct {
	// Endpoint is host:port, or a URL whose scheme decides about encryption.
	Endpoint   string
	Insecure   bool
	SampleRate float64
	Namespace  string
	// Attributes are put on every span.
	Attributes []attribute.KeyValue
}

// Tracer writes spans until it is closed.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracing  *httpapi.Tracing
}

// NewTracer returns a Tracer that sends spans in batches over OTLP and gRPC. The
// connection is made in the background; an endpoint that is away costs no request.
func NewTracer(ctx context.Context, o TracingOptions) (*Tracer, error) {
	var options []otlptracegrpc.Option
	if strings.Contains(o.Endpoint, "://") {
		options = append(options, otlptracegrpc.WithEndpointURL(o.Endpoint))
	} else {
		options = append(options, otlptracegrpc.WithEndpoint(o.Endpoint))
	}
	if o.Insecure {
		options = append(options, otlptracegrpc.WithInsecure())
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	return newTracer(o, sdktrace.WithBatcher(exporter)), nil
}

func newTracer(o TracingOptions, processor sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(processor,
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.SampleRate))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", serviceName),
			attribute.String("service.namespace", o.Namespace),
			attribute.String("service.version", version.Get().Version))))
	return &Tracer{provider: provider, tracing: &httpapi.Tracing{
		Tracer: provider.Tracer(serviceName),
		// Baggage is left alone: clients would fill it.
		Propagator: propagation.TraceContext{},
		Attributes: o.Attributes,
	}}
}

// Tracing is what the handlers of the listeners need.
func (t *Tracer) Tracing() *httpapi.Tracing {
	return t.tracing
}

// Provider is for spans of outgoing calls.
func (t *Tracer) Provider() *sdktrace.TracerProvider {
	return t.provider
}

// Close sends what is left.
func (t *Tracer) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}
