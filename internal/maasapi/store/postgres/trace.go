// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// tracerName is what spans of this package are told apart by.
const tracerName = "maas-api/postgres"

// traced begins the span of an operation below that of the request it belongs to.
// What belongs to no request that is recorded, like polls, has none. The returned
// function ends it.
func traced(ctx context.Context, operation string) (context.Context, func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := parent.TracerProvider().Tracer(tracerName).Start(ctx, "postgres "+operation,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("db.system", "postgresql")))
	return ctx, func(err error) {
		if err != nil && !errors.Is(err, apikey.ErrNotFound) {
			span.SetStatus(codes.Error, operation) // The error's text may say more than a trace should.
		}
		span.End()
	}
}
