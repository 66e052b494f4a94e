// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry decides which labels the usage metrics of a tenant's Gateway have,
// and computes the TelemetryPolicy and Istio's Telemetry that ask for them. It is pure.
//
// Labels are what the AuthPolicies make known of a caller. Each expression yields a text
// for every caller, and an empty one where there is nothing to say: the gateway's filter
// makes its report to the limiter of all of them or of none, so that one label that
// cannot be computed would cost the count, and with it the quota. Therefore no label
// looks at the reply of a model.
package telemetry
