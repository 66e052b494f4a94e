// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts, finds again and ends the programs that the harness
// runs beside a test or in the background. It owns what a program is started
// with and how it is told from a later one with the same id. It must not know
// which programs there are, and never end one that it cannot tell apart.
//
// It runs on Linux.
package process
