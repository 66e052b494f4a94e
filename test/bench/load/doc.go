// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load asks a server as fast as it answers, or at a given rate, and
// measures how long it takes. It owns connections, pacing and latencies; what is
// asked, and what a right answer is, its callers say.
//
// It is made to take little of the processor that it shares with the server: over
// HTTP/1.1 it writes requests that are ready and reads no more of an answer than it
// must. Over HTTP/2 it uses Go's own client, as Authorino does, and for gRPC too, which
// needs no other module then.
package load
