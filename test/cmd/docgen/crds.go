// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type (
	crd    = apiextensionsv1.CustomResourceDefinition
	schema = apiextensionsv1.JSONSchemaProps
)

// foreign are Kubernetes' own types inside ours, which Kubernetes documents.
var foreign = map[string]string{
	"spec.networkPolicyEgressRules":           "NetworkPolicyEgressRule of networking.k8s.io/v1",
	"spec.networkPolicyAdditionalEgressRules": "NetworkPolicyEgressRule of networking.k8s.io/v1",
	"status.conditions":                       "Condition of meta/v1",
}

// loadCRDs reads all CRDs of a directory, in the order of their page: the group that
// users meet first, then by kind.
func loadCRDs(dir string) ([]*crd, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s", dir)
	}
	var crds []*crd
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read CRD: %w", err)
		}
		c := &crd{}
		if err := yaml.UnmarshalStrict(content, c); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		crds = append(crds, c)
	}
	slices.SortFunc(crds, func(a, b *crd) int {
		return cmp.Or(
			-strings.Compare(a.Spec.Group, b.Spec.Group),
			strings.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind),
		)
	})
	return crds, nil
}

// kindsPage documents the fields of all kinds.
func kindsPage(crds []*crd) []byte {
	p := newPage("API reference", fromAPI,
		"All kinds of Models as a Service, field by field. What phases, condition types and reasons mean is in",
		"[api-status.md](api-status.md), labels and annotations are in [api-metadata.md](api-metadata.md).",
	)
	p.line("")
	for _, c := range crds {
		p.line("* [%s](#%s) `%s/%s`", c.Spec.Names.Kind, anchor(heading(c)), c.Spec.Group, version(c).Name)
	}
	for _, c := range crds {
		kindSection(p, c)
	}
	return p.bytes()
}

// heading is unique although two groups have an ExternalModel.
func heading(c *crd) string {
	if strings.HasPrefix(c.Spec.Group, "inference.") {
		return c.Spec.Names.Kind + " (inference)"
	}
	return c.Spec.Names.Kind
}

func version(c *crd) *apiextensionsv1.CustomResourceDefinitionVersion { return &c.Spec.Versions[0] }

func kindSection(p *page, c *crd) {
	root := version(c).Schema.OpenAPIV3Schema
	p.heading(2, heading(c))
	p.paragraph(root.Description)
	if version(c).Deprecated {
		p.paragraph("**Deprecated.** " + *version(c).DeprecationWarning + ".")
	}

	scope := "cluster-scoped"
	if c.Spec.Scope == apiextensionsv1.NamespaceScoped {
		scope = "namespaced"
	}
	names := append([]string{c.Spec.Names.Plural, c.Spec.Names.Singular}, c.Spec.Names.ShortNames...)
	p.line("`apiVersion: %s/%s`, `kind: %s`; %s; `kubectl get` %s.", c.Spec.Group, version(c).Name, c.Spec.Names.Kind, scope, codes(names))
	for _, rule := range root.XValidations {
		p.line("\nRule: %s.", text(rule.Message))
	}
	for _, part := range []string{"spec", "status"} {
		if s, ok := root.Properties[part]; ok {
			p.heading(3, heading(c)+" "+part)
			p.paragraph(s.Description)
			p.table([]string{"Field", "Type", "Required", "Default", "Validation", "Meaning"}, fieldRows(&s, part, required(root, part)))
		}
	}
}

// fieldRows returns a row for each field below s, parents first. The row of s itself is
// left out unless it has rules of its own.
func fieldRows(s *schema, path string, isRequired bool) [][]string {
	var rows [][]string
	if strings.Contains(path, ".") || len(s.XValidations) > 0 {
		rows = append(rows, fieldRow(s, path, isRequired))
	}
	if foreign[path] != "" {
		return rows
	}
	inner, suffix := s, ""
	if s.Items != nil {
		inner, suffix = s.Items.Schema, "[]"
	}
	for _, name := range slices.Sorted(maps.Keys(inner.Properties)) {
		property := inner.Properties[name]
		rows = append(rows, fieldRows(&property, path+suffix+"."+name, required(inner, name))...)
	}
	return rows
}

func fieldRow(s *schema, path string, isRequired bool) []string {
	yes := ""
	if isRequired {
		yes = "yes"
	}
	value := ""
	if s.Default != nil {
		value = code(string(s.Default.Raw))
	}
	meaning := text(s.Description)
	return []string{code(path), typeName(s, path), yes, value, strings.Join(validations(s), "; "), meaning}
}

func required(parent *schema, name string) bool { return slices.Contains(parent.Required, name) }

func typeName(s *schema, path string) string {
	switch {
	case s.Items != nil && foreign[path] != "":
		return "list of " + foreign[path]
	case s.Items != nil:
		return "list of " + typeName(s.Items.Schema, "")
	case s.AdditionalProperties != nil:
		return "map of string to " + typeName(s.AdditionalProperties.Schema, "")
	case s.Format != "":
		return fmt.Sprintf("%s (%s)", s.Type, s.Format)
	default:
		return s.Type
	}
}

// validations describes the rules of a field, and those of the items of a list of
// simple values.
func validations(s *schema) []string {
	list := ownValidations(s)
	if s.Items != nil && len(s.Items.Schema.Properties) == 0 {
		for _, v := range ownValidations(s.Items.Schema) {
			list = append(list, "each: "+v)
		}
	}
	if s.Items != nil {
		for _, rule := range s.Items.Schema.XValidations {
			list = append(list, "each: "+text(rule.Message))
		}
	}
	return list
}

func ownValidations(s *schema) []string {
	var list []string
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, code(strings.Trim(string(v.Raw), `"`)))
		}
		list = append(list, "one of "+strings.Join(values, ", "))
	}
	list = append(list, bounds("characters", s.MinLength, s.MaxLength)...)
	list = append(list, bounds("items", s.MinItems, s.MaxItems)...)
	list = append(list, bounds("entries", s.MinProperties, s.MaxProperties)...)
	list = append(list, bounds("", integer(s.Minimum), integer(s.Maximum))...)
	if s.Pattern != "" {
		list = append(list, "matches "+code(s.Pattern))
	}
	for _, rule := range s.XValidations {
		list = append(list, text(rule.Message))
	}
	return list
}

func integer(f *float64) *int64 {
	if f == nil {
		return nil
	}
	return new(int64(*f))
}

func bounds(unit string, least, most *int64) []string {
	var words string
	switch {
	case least != nil && most != nil:
		words = fmt.Sprintf("%d to %d", *least, *most)
	case least != nil:
		words = fmt.Sprintf("at least %d", *least)
	case most != nil:
		words = fmt.Sprintf("at most %d", *most)
	default:
		return nil
	}
	return []string{strings.TrimSpace(words + " " + unit)}
}
