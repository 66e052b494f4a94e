// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valuetypes reads the value types of the templates from their source:
// names, Go types and doc comments. It owns what counts as part of the contract
// with packagers; what is written of it, and where, is up to those who call it.
package valuetypes

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"slices"
	"strings"
)

// Type is one exported type.
type Type struct {
	// Name is the type's name.
	Name string
	// Doc is its doc comment.
	Doc string
	// Underlying is the Go type of a type that is no struct, such as "string".
	Underlying string
	// Fields are those of a struct, in the order of the source.
	Fields []Field
}

// Field is one exported field of a struct.
type Field struct {
	// Name is the field's name.
	Name string
	// Type is its Go type as it is written, such as "[]TokenRate".
	Type string
	// Doc is its doc comment.
	Doc string
}

// Load returns the exported types in the Go files at the root of a file system,
// by name.
func Load(fsys fs.FS) ([]Type, error) {
	files, err := fs.Glob(fsys, "*.go")
	if err != nil {
		return nil, fmt.Errorf("list Go files: %w", err)
	}
	var out []Type
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("read value types: %w", err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse value types: %w", err)
		}
		found, err := typesOf(parsed)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, errors.New("no exported type; is this the package of the value types?")
	}
	slices.SortFunc(out, func(a, b Type) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func typesOf(file *ast.File) ([]Type, error) {
	var out []Type
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			declared, ok := spec.(*ast.TypeSpec)
			if !ok || !declared.Name.IsExported() {
				continue
			}
			t, err := toType(declared, group.Doc)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

func toType(declared *ast.TypeSpec, groupDoc *ast.CommentGroup) (Type, error) {
	t := Type{Name: declared.Name.Name, Doc: cmp.Or(declared.Doc.Text(), groupDoc.Text())}
	structure, ok := declared.Type.(*ast.StructType)
	if !ok {
		t.Underlying = types.ExprString(declared.Type)
		return t, nil
	}
	for _, field := range structure.Fields.List {
		if len(field.Names) == 0 {
			return Type{}, fmt.Errorf("%s embeds %s; give the field a name, which templates need", t.Name, types.ExprString(field.Type))
		}
		for _, name := range field.Names {
			if name.IsExported() {
				t.Fields = append(t.Fields, Field{Name: name.Name, Type: types.ExprString(field.Type), Doc: field.Doc.Text()})
			}
		}
	}
	return t, nil
}
