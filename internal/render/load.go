// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template/parse"
)

// source is one parsed file. Object templates have one tree, named by their
// id; fragment files have one tree per define.
type source struct {
	file  string
	text  string
	trees map[string]*parse.Tree
}

// isFragments tells whether the file lies in _lib.
func (s *source) isFragments() bool { return path.Dir(s.file) == fragmentDir }

// library is everything parsed.
type library struct {
	sources []*source              // sorted by file
	trees   map[string]*parse.Tree // by template id or fragment name
	origin  map[string]*source     // by template id or fragment name
}

// load finds and parses every template and fragment.
func load(fsys fs.FS, entries map[ID]Entry) (*library, error) {
	files, err := findFiles(fsys)
	if err != nil {
		return nil, err
	}
	lib := &library{trees: map[string]*parse.Tree{}, origin: map[string]*source{}}
	var errs []error
	for _, file := range files {
		src, err := parseFile(fsys, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lib.sources = append(lib.sources, src)
		errs = append(errs, lib.add(src))
	}
	for _, file := range files {
		if id := idOf(file); id != "" {
			if _, ok := entries[id]; !ok {
				errs = append(errs, &Error{ID: id, File: file, Message: "no table entry; add one or remove the file"})
			}
		}
	}
	for id := range entries {
		if !slices.Contains(files, id.File()) {
			errs = append(errs, &Error{ID: id, File: id.File(), Message: "file does not exist; add it or remove the table entry"})
		}
	}
	return lib, joinSorted(errs...)
}

// add enters the trees of a file under their names.
func (l *library) add(src *source) error {
	var errs []error
	for name, tree := range src.trees {
		if other, taken := l.origin[name]; taken {
			errs = append(errs, &Error{File: src.file, Message: fmt.Sprintf("fragment %q is already defined in %s; names are global", name, other.file)})
			continue
		}
		l.trees[name], l.origin[name] = tree, src
	}
	return joinSorted(errs...)
}

// findFiles lists templates and fragments, sorted. A file that lies where
// templates lie but is not named like one would be left out without a word,
// so it is an error.
func findFiles(fsys fs.FS) ([]string, error) {
	var files []string
	var errs []error
	err := fs.WalkDir(fsys, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := path.Dir(file)
		if entry.IsDir() || dir == "." || path.Ext(file) == ".go" {
			return nil // README, LOCK and Go source are not templates
		}
		suffix := templateSuffix
		if strings.Split(file, "/")[0] == fragmentDir {
			suffix = fragmentSuffix
		}
		switch {
		case strings.Contains(dir, "/"):
			errs = append(errs, fmt.Errorf("file %s: lies too deep; templates are <component>/<kind>-<name>%s, fragments %s/*%s", file, templateSuffix, fragmentDir, fragmentSuffix))
		case !strings.HasSuffix(file, suffix):
			errs = append(errs, fmt.Errorf("file %s: name must end in %s", file, suffix))
		default:
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	return files, errors.Join(errs...)
}

// parseFile reads and parses one file. Functions are checked by the linter,
// which knows a remedy for each that is missing.
func parseFile(fsys fs.FS, file string) (*source, error) {
	content, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", file, err)
	}
	src := &source{file: file, text: string(content), trees: map[string]*parse.Tree{}}
	r := report{file: file, text: src.text}
	if i := strings.IndexFunc(src.text, isForbiddenRune); i >= 0 {
		r.atOffset(i, "contains a tab, a carriage return, another control character or invalid UTF-8; use spaces and plain newlines")
		return nil, r.err()
	}
	name := file
	if id := idOf(file); id != "" {
		name = string(id)
	}
	root := parse.New(name)
	root.Mode = parse.SkipFuncCheck
	if _, err := root.Parse(src.text, "", "", src.trees); err != nil {
		line, message := splitParseError(err)
		r.atLine(line, "%s", message)
		return nil, r.err()
	}
	if src.isFragments() {
		if !parse.IsEmptyTree(root.Root) {
			r.atLine(0, "has text outside {{ define }}; it would never be used")
		}
		delete(src.trees, name)
		if len(src.trees) == 0 {
			r.atLine(0, "defines no fragment; add {{ define \"name\" }} or remove the file")
		}
	} else if len(src.trees) > 1 {
		r.atLine(0, "contains {{ define }} or {{ block }}; move it to %s/*%s", fragmentDir, fragmentSuffix)
	}
	return src, r.err()
}

func isForbiddenRune(r rune) bool {
	return r != '\n' && (r < 0x20 || r == 0x7f || r == '\ufeff' || r == '\ufffd')
}
