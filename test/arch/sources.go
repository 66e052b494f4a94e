// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// MaxLines is the length no hand-written Go file may exceed.
const MaxLines = 600

// header opens every hand-written Go file.
const header = "// Copyright The maas-operator Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"

// emptyNames are package names that say nothing about what a package owns.
var emptyNames = []string{
	"util", "utils", "common", "helper", "helpers", "type", "types", "misc", "shared", "base",
}

// foreign matches what belongs to one machine and not to the project: absolute
// paths of a build machine or of somebody's home, and settings that name a
// proxy.
var foreign = regexp.MustCompile(`(^|[\s"'=:(` + "`" + `])/(work|farm|root|Users|home/[a-z]+)/\w` +
	`|(?i:\b(https?_proxy|goproxy)\s*[:=]\s*["']?https?://)`)

// generated matches the line by which tools mark their output.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// ignoredDirs hold nothing hand-written: build output and git's own files.
var ignoredDirs = []string{".git", ".dev", "bin", "node_modules"}

// Files reads all regular files of a tree, without build output, by path.
func Files(tree fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(ignoredDirs, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		if err == nil {
			files[name] = content
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read source tree: %w", err)
	}
	return files, nil
}

// CheckHeaders names hand-written Go files that do not open with the two lines
// of the licence.
func CheckHeaders(files map[string][]byte) []string {
	return each(files, handwritten, func(name string, content []byte) []string {
		if bytes.HasPrefix(content, []byte(header)) {
			return nil
		}
		return []string{name + " does not open with the licence header and an empty line"}
	})
}

// CheckLengths names hand-written Go files that are too long to be one thing.
func CheckLengths(files map[string][]byte) []string {
	return each(files, handwritten, func(name string, content []byte) []string {
		if n := bytes.Count(content, []byte("\n")); n > MaxLines {
			return []string{fmt.Sprintf("%s has %d lines, more than %d; split it by concern", name, n, MaxLines)}
		}
		return nil
	})
}

// CheckForeign names lines of any text file that mention a path of some
// machine or a proxy.
func CheckForeign(files map[string][]byte) []string {
	return each(files, isText, func(name string, content []byte) []string {
		var found []string
		for i, line := range bytes.Split(content, []byte("\n")) {
			if foreign.Match(line) {
				found = append(found, fmt.Sprintf("%s:%d mentions a machine's path or a proxy", name, i+1))
			}
		}
		return found
	})
}

// CheckPackages names directories whose package has a name that says nothing
// or lacks a doc comment of the form "Package x ..." or "Command x ...".
func CheckPackages(files map[string][]byte) []string {
	type facts struct{ name, doc string }
	packages := map[string]facts{}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			found = append(found, fmt.Sprintf("%s does not parse: %v", name, err))
			continue
		}
		dir := path.Dir(name)
		p := packages[dir]
		if p.name == "" || !strings.HasSuffix(f.Name.Name, "_test") {
			p.name = f.Name.Name
		}
		if strings.HasPrefix(docText(f), "Package ") || strings.HasPrefix(docText(f), "Command ") {
			p.doc = docText(f)
		}
		packages[dir] = p
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if slices.Contains(emptyNames, packages[dir].name) || slices.Contains(emptyNames, path.Base(dir)) {
			found = append(found, dir+" has a name that says nothing about what it owns")
		}
		if packages[dir].doc == "" {
			found = append(found, dir+" has no doc comment that starts with \"Package\" or \"Command\"")
		}
	}
	return found
}

func docText(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}

func each(files map[string][]byte, want func(string, []byte) bool, check func(string, []byte) []string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if want(name, files[name]) {
			found = append(found, check(name, files[name])...)
		}
	}
	return found
}

// handwritten says whether a file is Go that people wrote. A generator's mark
// counts only above the package clause, where the go command looks for it.
func handwritten(name string, content []byte) bool {
	if !strings.HasSuffix(name, ".go") {
		return false
	}
	top, _, _ := bytes.Cut(append([]byte("\n"), content...), []byte("\npackage "))
	return !generated.Match(top)
}

func isText(name string, content []byte) bool {
	return path.Base(name) != "go.sum" && !bytes.ContainsRune(content, 0)
}
