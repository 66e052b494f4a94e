// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/ast"
)

// authVariable is the root of what the authorization server has made known.
const authVariable = "auth"

// known is what an expression sees as auth: a map of exactly the attributes that it
// names, null where there is none. So has() of one always holds, and one that is
// absent is no error but null. An attribute that is named beside a longer one, such as
// auth.identity beside auth.identity.userid, hides it. (Known from the public source
// of wasm-shim, src/data/cel.rs: build_data_map makes the map of the paths in the
// expression, and an attribute without a value is null.)
func (x *expression) known(metadata any) any {
	if len(x.paths) == 0 {
		return nil
	}
	root := map[string]any{}
	for _, path := range x.paths {
		node, hidden := root, false
		for _, name := range path[:len(path)-1] {
			child, there := node[name]
			if !there {
				child = map[string]any{}
				node[name] = child
			}
			inner, ok := child.(map[string]any)
			if hidden = !ok; hidden {
				break
			}
			node = inner
		}
		if !hidden {
			node[path[len(path)-1]] = scalar(metadata, path)
		}
	}
	return root
}

// scalar is the value at a path. Objects are kept by their fields, and lists not at
// all. (Known from the public source of wasm-shim, process_metadata.)
func scalar(metadata any, path []string) any {
	for _, name := range path {
		object, ok := metadata.(map[string]any)
		if !ok {
			return nil
		}
		metadata = object[name]
	}
	switch metadata.(type) {
	case map[string]any, []any:
		return nil
	}
	return metadata
}

// pathsOf are the paths below auth that an expression names, the shortest first.
func pathsOf(root ast.Expr) (paths [][]string) {
	inner := map[int64]bool{} // Operands of longer paths.
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind || inner[e.ID()] {
			return
		}
		var path []string
		for e.Kind() == ast.SelectKind {
			path = append(path, e.AsSelect().FieldName())
			e = e.AsSelect().Operand()
			inner[e.ID()] = true
		}
		if e.Kind() == ast.IdentKind && e.AsIdent() == authVariable {
			slices.Reverse(path)
			paths = append(paths, path)
		}
	}))
	slices.SortStableFunc(paths, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	return paths
}
