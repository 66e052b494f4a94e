// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otelcol checks the configuration of the collector of usage logs: the
// collector's own loader reads it, and its own processor changes records by it.
// Nothing imports it.
package otelcol
