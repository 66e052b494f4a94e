// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what the operator does and weighs what it keeps: how
// reconciles end, what is written to the API server, how large the generated
// policies are, which entries are refused, and how long a change takes until it
// is enforced. One [Metrics] is a Prometheus collector; the caller registers it
// and hands it to the controllers. A nil *Metrics records nothing.
//
// No label holds the name of a model, a subscription or a user: the number of
// series must not grow with the number of objects. What is known of single
// objects is kept by name inside, added up when somebody asks, and dropped when
// the object goes, so that gauges fall again.
//
// The package must not decide anything, read from the cluster or know a client.
package metrics
