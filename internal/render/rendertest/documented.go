// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// Undocumented reports every exported type and every field of an exported
// struct type without a doc comment, in the Go files at the root of a file
// system. The value types are the contract with packagers, and their reference
// is generated from these comments.
func Undocumented(fsys fs.FS) error {
	files, err := fs.Glob(fsys, "*.go")
	if err != nil {
		return fmt.Errorf("list Go files: %w", err)
	}
	checked := 0
	var errs []error
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := fs.ReadFile(fsys, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, content, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		for _, declaration := range parsed.Decls {
			types, ok := declaration.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				checked++
				errs = append(errs, undocumentedIn(positions, types, spec)...)
			}
		}
	}
	if checked == 0 {
		return errors.New("no type found; is this the package of the value types?")
	}
	return errors.Join(errs...)
}

func undocumentedIn(positions *token.FileSet, group *ast.GenDecl, spec ast.Spec) []error {
	declared, ok := spec.(*ast.TypeSpec)
	if !ok || !declared.Name.IsExported() {
		return nil
	}
	var errs []error
	missing := func(node ast.Node, name string) {
		errs = append(errs, fmt.Errorf("%s: %s has no doc comment; say what it means, its unit and what empty means", positions.Position(node.Pos()), name))
	}
	if !hasText(declared.Doc) && !hasText(group.Doc) {
		missing(declared, declared.Name.Name)
	}
	structure, ok := declared.Type.(*ast.StructType)
	if !ok {
		return errs
	}
	for _, field := range structure.Fields.List {
		if hasText(field.Doc) {
			continue
		}
		for _, name := range field.Names {
			if name.IsExported() {
				missing(field, declared.Name.Name+"."+name.Name)
			}
		}
	}
	return errs
}

func hasText(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }
