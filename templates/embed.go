// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package templates embeds the text/template files every Kubernetes object
// of the operator is rendered from. One file holds one object; fragments live
// in _lib. The package holds no logic and imports only the standard library.
package templates

import "embed"

// FS holds every template, addressed as <component>/<kind>-<name>.yaml.tmpl.
// The all: prefix matters: without it go:embed leaves out _lib.
//
//go:embed all:*
var FS embed.FS
