// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage notes when API keys were used, and writes it down in batches.
//
// To note a use costs a look into memory and never waits for anybody; what was
// noted is written every few seconds in one statement, and once more at the end.
// It knows nothing of SQL: a [Writer] writes.
package usage
