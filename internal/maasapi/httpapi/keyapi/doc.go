// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keyapi serves the calls about API keys: those of their owners and
// administrators below /v1/api-keys, and those of the cluster's own jobs.
//
// It decodes, calls [apikey.Service] and encodes. What a key may be and who may
// do what is decided there.
package keyapi
