// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logql narrows LogQL queries to the records of one namespace and one user.
// It reads less of the language than a log store does, writes what it read anew, and
// refuses the rest: it must never pass on what it did not understand.
package logql
