// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures what the operator costs: API calls, writes, memory
// and time, in bursts, at scale and at rest. The operator's own program runs
// on a real control plane; calls are counted by the server's audit log, memory
// is that of the process, and times stand beside the server's own floor
// measured in the same run. It also measures what maas-api costs, by asking its own
// program over TLS beside a real database: times and processor time stand beside
// those of a request that the same route refuses as soon as it has read it.
//
// It owns scenarios, reports and their comparison; it judges no behaviour beyond
// "did everything become Active", and "is every answer the one asked for".
package bench
