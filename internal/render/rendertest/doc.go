// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendertest holds checks for the templates and value types of the
// operator, to be called from their tests: that no text of a value changes the
// structure of an object, and that every field of the value types is
// documented. It is imported by tests only.
package rendertest
