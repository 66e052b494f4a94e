// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callback serves the two calls that the gateway's authorization server
// makes for an inference request: is this API key good, and which subscription
// applies. Both are answered from memory.
//
// It decodes, asks, and encodes. Which keys there are is the business of the
// index of keys, what a caller may do that of the snapshot of subscriptions.
package callback
