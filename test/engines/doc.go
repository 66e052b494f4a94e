// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engines starts the real engines behind generated policies. It owns their
// processes and what they are started with. It imports none of their code, and must
// not know what the policies say.
//
// It runs on Linux, and builds the programs when they are missing.
package engines
