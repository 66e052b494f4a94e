// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// timestamp is ISO 8601 with milliseconds and the zone.
const timestamp = "2006-01-02T15:04:05.000Z07:00"

// newLogger returns the logger of a valid configuration. It never leaves records
// out.
func newLogger(c config.General, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: level(c.LogLevel), AddSource: true, ReplaceAttr: rename}
	if c.LogFormat == "text" {
		return slog.New(requestHandler{slog.NewTextHandler(w, options)})
	}
	return slog.New(requestHandler{slog.NewJSONHandler(w, options)})
}

// auditLogger is the same, but writes audit records at every level of the log.
func auditLogger(c config.General, w io.Writer) *slog.Logger {
	if c.LogLevel != "debug" {
		c.LogLevel = "info"
	}
	return newLogger(c, w)
}

// requestHandler adds the id of the request that a record is about.
type requestHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h requestHandler) Handle(ctx context.Context, record slog.Record) error {
	if id := httpapi.RequestID(ctx); id != "" {
		record.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h requestHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements [slog.Handler].
func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}

func level(name string) slog.Level {
	switch name {
	case "error":
		return slog.LevelError
	case "warn":
		return slog.LevelWarn
	case "debug":
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// levelName is the name of the level at or below l: libraries have levels in
// between, which collectors do not know.
func levelName(l slog.Level) string {
	for _, known := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo} {
		if l >= known {
			return strings.ToLower(known.String())
		}
	}
	return strings.ToLower(slog.LevelDebug.String())
}

// rename gives the members of a record the names that log collectors know.
func rename(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("timestamp", a.Value.Time().Format(timestamp))
	case slog.LevelKey:
		if l, known := a.Value.Any().(slog.Level); known {
			return slog.String("level", levelName(l))
		}
	case slog.MessageKey:
		return slog.Attr{Key: "message", Value: a.Value}
	case slog.SourceKey:
		if source, known := a.Value.Any().(*slog.Source); known && source != nil {
			directory, file := filepath.Split(source.File)
			return slog.String("caller", filepath.Join(filepath.Base(directory), file)+":"+strconv.Itoa(source.Line))
		}
	}
	return a
}

// installLogger makes the libraries write to the logger too.
func installLogger(log *slog.Logger) {
	libraries := logr.FromSlogHandler(log.Handler())
	ctrl.SetLogger(libraries)
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("Tracing fails", slog.Any("error", err))
	}))
}
