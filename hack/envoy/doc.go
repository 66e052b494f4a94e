// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package envoy checks what EnvoyFilters in golden files say to Envoy: a proxy refuses
// the whole configuration of a listener when it cannot read a part of it. Each part is
// read by Envoy's own types, strictly, and programs in Lua are run. Nothing imports it.
package envoy
