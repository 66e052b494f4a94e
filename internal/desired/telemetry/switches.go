// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/opendatahub-io/maas-operator/api/v1alpha1"

// Switches are what a tenant's configuration asks for.
type Switches struct {
	// Enabled is false when nothing is to be labelled.
	Enabled bool
	// Metrics are the labels of metrics, Logs the fields of usage logs. Neither depends
	// on the other.
	Metrics Metrics
	// Logs is explained at Metrics.
	Logs Logs
}

// Metrics are the labels of metrics that can be switched.
type Metrics struct{ Organization, User, Group, ModelUsage bool }

// Logs are the fields of usage logs that can be switched.
type Logs struct{ User, Organization bool }

// SwitchesOf resolves what a spec leaves out, in whole or in part: telemetry is on, and
// what tells people apart is off.
func SwitchesOf(spec *v1alpha1.TenantTelemetryConfig) Switches {
	var config v1alpha1.TenantTelemetryConfig
	if spec != nil {
		config = *spec
	}
	var metrics v1alpha1.TelemetryMetricsConfig
	if config.Metrics != nil {
		metrics = *config.Metrics
	}
	var logs v1alpha1.TelemetryLogsConfig
	if config.Logs != nil {
		logs = *config.Logs
	}
	return Switches{
		Enabled: on(config.Enabled, true),
		Metrics: Metrics{
			Organization: on(metrics.CaptureOrganization, true), User: on(metrics.CaptureUser, false),
			Group: on(metrics.CaptureGroup, false), ModelUsage: on(metrics.CaptureModelUsage, true),
		},
		Logs: Logs{User: on(logs.CaptureUser, false), Organization: on(logs.CaptureOrganization, true)},
	}
}

func on(value *bool, otherwise bool) bool {
	if value == nil {
		return otherwise
	}
	return *value
}
