// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// defaultOutputLimit is far above any object etcd would store.
const defaultOutputLimit = 4 << 20

// Engine renders objects. It is immutable and safe for concurrent use.
type Engine struct {
	entries map[ID]Entry
	lib     *library
	set     *templateSet
	traced  func() *templateSet // built when the first error needs it
	scheme  *runtime.Scheme
}

type options struct {
	scheme *runtime.Scheme
	images map[string]string
	limit  int
}

// Option adjusts an engine.
type Option func(*options)

// WithScheme makes the engine refuse fields that the Go type of an object does
// not have, for the kinds the scheme knows.
func WithScheme(scheme *runtime.Scheme) Option {
	return func(o *options) { o.scheme = scheme }
}

// WithImages gives the image references behind the keys of the image function.
func WithImages(images map[string]string) Option {
	return func(o *options) { o.images = maps.Clone(images) }
}

// WithOutputLimit bounds the size in bytes of one rendered object.
func WithOutputLimit(bytes int) Option {
	return func(o *options) { o.limit = bytes }
}

// New parses, lints and type-checks every template of the file system against
// the component table. All faults are reported, joined.
func New(fsys fs.FS, table []Entry, opts ...Option) (*Engine, error) {
	o := options{limit: defaultOutputLimit}
	for _, apply := range opts {
		apply(&o)
	}
	entries, err := indexTable(table)
	if err := errors.Join(err, checkImages(o.images)); err != nil {
		return nil, err
	}
	lib, err := load(fsys, entries)
	if err != nil && lib == nil {
		return nil, err
	}
	set, setErr := newTemplateSet(lib.trees, o.images, o.limit)
	if setErr != nil {
		return nil, joinSorted(err, setErr)
	}
	if err := lib.check(entries, o.images, err); err != nil {
		return nil, err
	}
	e := &Engine{entries: entries, lib: lib, set: set, scheme: o.scheme}
	e.traced = sync.OnceValue(func() *templateSet { return lib.traceSet(o.images, o.limit) })
	return e, nil
}

// check runs the checks in the order in which each needs the one before, and
// returns everything found, together with what loading found.
func (lib *library) check(entries map[ID]Entry, images map[string]string, loadErr error) error {
	fm := functions(images, func(string, any) (string, error) { return "", nil })
	calls, lintErr := lib.lint(entries, &lintRules{allowed: allowedFunctions(fm), images: images})
	if loadErr != nil {
		return joinSorted(loadErr, lintErr) // what is missing may be in a file that does not parse
	}
	if err := joinSorted(lintErr, lib.checkCalls(entries, calls)); err != nil {
		return err
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		errs = append(errs, lib.typeCheck(entries[id], fm))
	}
	return joinSorted(errs...)
}

// Entries returns the component table in the order of application.
func (e *Engine) Entries() []Entry {
	return slices.SortedFunc(maps.Values(e.entries), compareEntries)
}

// Source returns the text of a template.
func (e *Engine) Source(id ID) (string, error) {
	if _, ok := e.entries[id]; !ok {
		return "", &Error{ID: id, Message: "is not in the component table"}
	}
	return e.lib.origin[string(id)].text, nil
}
