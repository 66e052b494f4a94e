// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maasctl is the command line for packagers and administrators. It reads
// files and clusters, asks the packages that decide (entitlement, desired, overlay,
// render), and shows what they answer. It must decide nothing itself: what the
// operator and maas-api do is what it shows.
package maasctl
