// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	levelError = "error"
	levelInfo  = "info"
	levelDebug = "debug"

	formatJSON    = "json"
	formatText    = "text"
	formatConsole = "console" // What earlier releases called text.

	// maxVerbosity is where even the libraries have no more to say.
	maxVerbosity = 10
)

// parseLevel reads a level by name or, as a number, by verbosity: 0 is what an
// administrator must see, 4 is for debugging.
func parseLevel(text string) (slog.Level, error) {
	switch text {
	case levelError:
		return slog.LevelError, nil
	case levelInfo:
		return slog.LevelInfo, nil
	case levelDebug:
		return slog.LevelDebug, nil
	}
	verbosity, err := strconv.Atoi(text)
	if err != nil || verbosity < 0 || verbosity > maxVerbosity {
		return 0, fmt.Errorf("is %q: use %s, %s, %s, or a number from 0 to %d", text, levelError, levelInfo, levelDebug, maxVerbosity)
	}
	return slog.Level(-verbosity), nil
}

func parseFormat(text string) (func(io.Writer, *slog.HandlerOptions) slog.Handler, error) {
	switch text {
	case formatJSON:
		return func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }, nil
	case formatText, formatConsole:
		return func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }, nil
	default:
		return nil, fmt.Errorf("is %q: use %s or %s", text, formatJSON, formatText)
	}
}

// newLogger returns the logger of a valid configuration.
func newLogger(c Config, w io.Writer) (logr.Logger, error) {
	level, err := parseLevel(c.LogLevel)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level %w", err)
	}
	format, err := parseFormat(c.LogFormat)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-format %w", err)
	}
	return logr.FromSlogHandler(format(w, &slog.HandlerOptions{Level: level})), nil
}

// installLogger makes the libraries write to the logger too.
func installLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
}
