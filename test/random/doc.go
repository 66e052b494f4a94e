// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package random throws seeded random sequences of changes at the operator's own
// program on a real API server and compares what is left with package oracle,
// which computes it once more. Sequences run at the same time, each in a corner
// of the cluster; a failing one is cut down before it is shown.
//
// Run one again with -random.first=SEED -random.sequences=1, or many with
// -random.sequences=500.
package random
