// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring decides what the platform's monitoring is told about the
// installation, and computes its values: which metrics Prometheus reads, what it alerts
// about, and the dashboard of usage. Each alert and each query is written here once;
// test/rules runs them on series as programs expose them. The package is pure: it must
// not hold a client, and it does not know what the cluster serves.
package monitoring
