// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api holds the tests of the API's rules on a real API server. Each rule of
// the generated CRDs is shown three times: what it accepts, what it refuses and with
// which message, and that an object stored before the rule existed still accepts a
// status patch and a finalizer patch. The package owns no code that others may import.
package api
