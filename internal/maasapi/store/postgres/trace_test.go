// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestOperationsOfARequestHaveSpans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want codes.Code
	}{
		"done":      {nil, codes.Unset},
		"not found": {apikey.ErrNotFound, codes.Unset},
		"failed":    {errors.New("hunter2"), codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exporter := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
			ctx, request := provider.Tracer("t").Start(t.Context(), "GET /a")
			_, end := traced(ctx, "find key")
			end(tc.err)
			got := exporter.GetSpans()
			if len(got) != 1 || got[0].Name != "postgres find key" || got[0].Parent.SpanID() != request.SpanContext().SpanID() {
				t.Fatalf("spans %+v", got)
			}
			if got[0].Status.Code != tc.want || got[0].Status.Description == "hunter2" {
				t.Errorf("status %+v", got[0].Status)
			}
		})
	}
}

func TestOperationsOfNoRequestHaveNoSpans(t *testing.T) {
	t.Parallel()
	ctx, end := traced(t.Context(), "poll")
	end(nil)
	if ctx != t.Context() {
		t.Error("a span was begun")
	}
}
