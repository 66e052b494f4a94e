// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stage sets up what a suite needs that judges the operator from
// outside: a real control plane, the stand-ins for the operator's neighbours,
// the platform around the models, and the operator's own program as a process
// under its own ServiceAccount, which can be killed and started again.
//
// An operator that ends by itself ends the suite, see [Operator], and what it and the
// programs of Pods have written outlives a suite that failed, see package logs.
package stage
