// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash kills the operator's own program in the middle of a burst of
// changes and starts it again, on a real API server. A watcher that follows the
// generated policies beside the objects they are made of shows that nobody loses
// a limit meanwhile; package oracle, and a burst in which nobody is killed, show
// that the end is the same; and the audit log, that a restart then writes nothing.
package crash
