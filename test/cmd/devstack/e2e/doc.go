// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests devstack as its users meet it: built programs, signals,
// exit codes, and the processes they leave behind. It holds tests only and
// looks at nothing inside the program.
package e2e
