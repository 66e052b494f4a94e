// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render turns typed values into Kubernetes objects through
// text/template files. It owns the template engine: which functions a template
// may call, the checks every template passes once at start (lint, layout, type
// check), and the strict decoding of what a template produced. Rendering is a
// pure function of the template and its values.
//
// The package must not hold a client, read the environment, the clock or the
// file system beyond the fs.FS it is given, and must not decide which objects
// are wanted: that is the caller's table.
//
// # Rules a template obeys
//
// A template lies at <component>/<kind>-<name>.yaml.tmpl and holds one object.
// Its apiVersion and kind are literal; every value it emits ends in a function
// that quotes it (quote, toJson, int, image), or is a block placed by
// "toYaml | nindent N", "labels | nindent N" or "include NAME | nindent N"
// where N is the column the action stands at. Control actions stand alone on
// their line and only trim to the left.
//
// Fragments lie in _lib/*.tpl. A fragment named cel.* is CEL source text: it
// emits only through celString, celList, int and include of other cel.*
// fragments, and enters an object as {{ include "cel.x" . | oneline | quote }}.
// Every other fragment is YAML and enters through nindent.
package render
