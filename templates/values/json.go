// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// JSON is the canonical JSON text of an API structure that is passed on as it is. It
// enters an object through toYaml only; empty means that there is nothing.
type JSON string
