// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// group is a block of constants of one type.
type group struct {
	title     string // The doc comment of the block, without its full stop.
	typeName  string // Empty for untyped constants.
	constants []constant
}

// constant is one exported string constant with its doc comment.
type constant struct{ name, value, doc string }

// loadConstants returns the blocks of exported string constants of a package, in the
// order of files and lines. In the doc comments the names of constants are replaced
// by their values.
func loadConstants(dir string) ([]group, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read constants: %w", err)
	}
	var groups []group
	files := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read constants: %w", err)
		}
		groups = append(groups, fileGroups(file)...)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("no constants in %s", dir)
	}
	resolveNames(groups)
	return groups, nil
}

func fileGroups(file *ast.File) []group {
	var groups []group
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || !block.Lparen.IsValid() {
			continue
		}
		g := group{title: strings.TrimSuffix(oneLine(block.Doc.Text()), ".")}
		for _, spec := range block.Specs {
			if c, typeName, ok := toConstant(spec.(*ast.ValueSpec)); ok {
				g.constants = append(g.constants, c)
				g.typeName = typeName
			}
		}
		if len(g.constants) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func toConstant(spec *ast.ValueSpec) (c constant, typeName string, ok bool) {
	if len(spec.Names) != 1 || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
		return constant{}, "", false
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return constant{}, "", false
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return constant{}, "", false
	}
	if ident, ok := spec.Type.(*ast.Ident); ok {
		typeName = ident.Name
	}
	return constant{spec.Names[0].Name, value, oneLine(spec.Doc.Text())}, typeName, true
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

var identifier = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]+\b`)

// resolveNames replaces the names of constants in their docs: "Name: what it is."
// becomes "What it is.", any other name becomes the value.
func resolveNames(groups []group) {
	values := map[string]string{}
	for _, g := range groups {
		for _, c := range g.constants {
			values[c.name] = c.value
		}
	}
	for _, g := range groups {
		for i := range g.constants {
			c := &g.constants[i]
			if rest, ok := strings.CutPrefix(c.doc, c.name+": "); ok {
				c.doc = strings.ToUpper(rest[:1]) + rest[1:]
			}
			c.doc = identifier.ReplaceAllStringFunc(text(c.doc), func(name string) string {
				if value, ok := values[name]; ok {
					return code(value)
				}
				return name
			})
		}
	}
}

// statusPage documents phases, condition types and reasons.
func statusPage(groups []group) []byte {
	p := newPage("Phases, conditions and reasons", fromAPI,
		"What the status of objects can say. A phase is a summary for people; programs should look at conditions, and must",
		"accept reasons they do not know. Every condition and every status has the generation it was computed for in",
		"`observedGeneration`.",
	)
	constantSections(p, groups, "Value", func(g group, _ constant) bool {
		return strings.HasSuffix(g.typeName, "Phase") || g.typeName == "RateLimitIdentity"
	})
	constantSections(p, groups, "Type", func(g group, _ constant) bool { return g.typeName == "ConditionType" })
	constantSections(p, groups, "Reason", func(g group, _ constant) bool { return g.typeName == "ConditionReason" })
	return p.bytes()
}

// metadataPage documents labels, annotations and finalizers.
func metadataPage(groups []group) []byte {
	p := newPage("Labels, annotations and finalizers", fromAPI, "The metadata by which objects of Models as a Service are linked, found and steered.")
	for _, prefix := range []string{"Label", "Annotation", "Finalizer"} {
		constantSections(p, groups, "Name", func(g group, c constant) bool {
			return g.typeName == "" && strings.HasPrefix(c.name, prefix)
		})
	}
	return p.bytes()
}

// constantSections adds a section for each group that has wanted constants.
func constantSections(p *page, groups []group, column string, wanted func(group, constant) bool) {
	for _, g := range groups {
		var rows [][]string
		for _, c := range g.constants {
			if wanted(g, c) {
				rows = append(rows, []string{code(c.value), c.doc})
			}
		}
		if len(rows) > 0 {
			p.heading(2, g.title)
			p.table([]string{column, "Meaning"}, rows)
		}
	}
}
