// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

// sprigFunctions are the functions taken from sprig as they are: pure, total
// and typed, so that the type check sees through them.
var sprigFunctions = [...]string{
	"b64enc", "contains", "hasPrefix", "hasSuffix", "indent", "lower", "nindent", "replace",
	"sha256sum", "trim", "trimAll", "trimPrefix", "trimSuffix", "upper",
}

// builtinFunctions are the functions of text/template itself that a template
// may call. printf is replaced by a strict one.
var builtinFunctions = [...]string{"and", "eq", "ge", "gt", "le", "len", "lt", "ne", "not", "or"}

// functions returns everything a template may call beyond builtinFunctions.
// The functions that depend on the engine come from its options and includer.
func functions(images map[string]string, include func(string, any) (string, error)) template.FuncMap {
	fm := template.FuncMap{
		"celList":   celtext.List,
		"celString": celtext.String,
		"childName": childName,
		"dict":      dict,
		"fail":      fail,
		"image":     imageFunc(images),
		"include":   include,
		"int":       toInt,
		"int64":     toInt,
		"join":      join,
		"labels":    labels,
		"list":      list,
		"oneline":   oneline,
		"printf":    printf,
		"quote":     quote,
		"required":  required,
		"sortAlpha": sortAlpha,
		"ternary":   ternary,
		"toJson":    toJSON,
		"toString":  toString,
		"toYaml":    toYAML,
		"trunc":     trunc,
	}
	all := sprig.TxtFuncMap()
	for _, name := range sprigFunctions {
		fm[name] = all[name]
	}
	if compare, ok := all["semverCompare"].(func(string, string) (bool, error)); ok {
		fm["semverCompare"] = semverCompare(compare)
	}
	return fm
}

// allowedFunctions returns the sorted names of everything a template may call.
func allowedFunctions(fm template.FuncMap) []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(fm)), builtinFunctions[:]...)))
}

// remedies says what to do instead of a function that authors look for.
var remedies = map[string]string{
	"bcrypt":         "secrets are not rendered",
	"call":           "compute the value in Go",
	"coalesce":       "resolve defaults in Go, where the values are built",
	"date":           "rendering must not depend on the clock",
	"default":        "resolve defaults in Go, where the values are built",
	"derivePassword": "secrets are not rendered",
	"dig":            "use a typed field",
	"empty":          "use if, which tests for emptiness",
	"env":            "pass the value as a typed field",
	"expandenv":      "pass the value as a typed field",
	"first":          "use range or with over a list of length 0 or 1",
	"fromJson":       "pass typed values",
	"fromYaml":       "pass typed values",
	"genPrivateKey":  "secrets are not rendered",
	"get":            "use a typed field",
	"getHostByName":  "rendering must not use the network",
	"html":           "use quote",
	"htpasswd":       "secrets are not rendered",
	"index":          "use range, with or a typed field; index yields an empty value for a key that is missing",
	"js":             "use toJson",
	"keys":           "range over the map, which is sorted by key",
	"lookup":         "facts are gathered before rendering; pass a typed field",
	"mustToJson":     "use toJson, which reports errors",
	"mustToYaml":     "use toYaml, which reports errors",
	"now":            "rendering must not depend on the clock",
	"print":          "use printf",
	"println":        "use printf",
	"randAlphaNum":   "rendering must not be random",
	"shuffle":        "rendering must not be random",
	"slice":          "compute the value in Go",
	"squote":         "use quote",
	"toPrettyJson":   "use toJson",
	"tpl":            "use include",
	"trimall":        "use trimAll",
	"urlquery":       "compute the value in Go",
	"uuidv4":         "rendering must not be random",
	"values":         "range over the map, which is sorted by key",
}

// required returns the text, or the message as an error when it is empty.
func required(message, s string) (string, error) {
	if s == "" {
		return "", errors.New(message)
	}
	return s, nil
}

// fail ends rendering with a message.
func fail(message string) (string, error) { return "", errors.New(message) }

// list returns its arguments as a list of strings.
func list(items ...string) []string { return items }

// dict returns a map of strings from alternating keys and values.
func dict(pairs ...string) (map[string]string, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict needs a value for every key")
	}
	m := make(map[string]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		if _, double := m[pairs[i]]; double {
			return nil, errors.New("dict has the same key twice")
		}
		m[pairs[i]] = pairs[i+1]
	}
	return m, nil
}

// join joins strings, the separator first so that it can end a pipeline.
func join(separator string, items []string) string { return strings.Join(items, separator) }

// sortAlpha returns a sorted copy.
func sortAlpha(items []string) []string { return slices.Sorted(slices.Values(items)) }

// ternary returns the first text when the condition holds, else the second.
func ternary(yes, no string, condition bool) string {
	if condition {
		return yes
	}
	return no
}

// trunc returns at most n bytes of the text and never half a character.
func trunc(n int, s string) (string, error) {
	if n < 0 {
		return "", errors.New("length must not be negative")
	}
	if len(s) <= n {
		return s, nil
	}
	for n > 0 && s[n]&0xc0 == 0x80 { // a continuation byte
		n--
	}
	return s[:n], nil
}

// semverCompare wraps sprig's function of that name, which tells whether a
// version satisfies a constraint, because its errors repeat the version.
func semverCompare(compare func(string, string) (bool, error)) func(string, string) (bool, error) {
	return func(constraint, version string) (bool, error) {
		satisfied, err := compare(constraint, version)
		if err != nil {
			return false, fmt.Errorf("constraint %q or the version compared with it is not a semantic version", constraint)
		}
		return satisfied, nil
	}
}
