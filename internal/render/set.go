// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// errTooLarge ends a rendering that outgrows the engine's limit.
var errTooLarge = errors.New("output is larger than the limit of the engine; bound the lists in the values")

// templateSet holds executable templates. It does not change once it is built.
type templateSet struct {
	root  *template.Template
	limit int
	pool  sync.Pool // of *limitedBuffer
}

// newTemplateSet makes trees executable.
func newTemplateSet(trees map[string]*parse.Tree, images map[string]string, limit int) (*templateSet, error) {
	s := &templateSet{limit: limit}
	s.pool.New = func() any { return &limitedBuffer{limit: limit} }
	s.root = template.New("").Option("missingkey=error").Funcs(functions(images, s.include))
	for name, tree := range trees {
		if _, err := s.root.AddParseTree(name, tree); err != nil {
			return nil, fmt.Errorf("add template %s: %w", name, err)
		}
	}
	return s, nil
}

// execute renders a template and hands over its text, which must not be kept.
func (s *templateSet) execute(name string, data any, use func([]byte) error) error {
	buffer, ok := s.pool.Get().(*limitedBuffer)
	if !ok {
		buffer = &limitedBuffer{limit: s.limit}
	}
	defer func() {
		buffer.content.Reset()
		s.pool.Put(buffer)
	}()
	if err := s.root.ExecuteTemplate(buffer, name, data); err != nil {
		return err
	}
	return use(buffer.content.Bytes())
}

// include is the template function. It leaves out blank lines around the
// fragment, which come from the lines of define and end.
func (s *templateSet) include(name string, data any) (text string, err error) {
	err = s.execute(name, data, func(content []byte) error {
		text = strings.TrimRight(strings.TrimLeft(string(content), "\n"), " \n")
		return nil
	})
	return text, err
}

// limitedBuffer is a buffer that refuses to grow beyond its limit.
type limitedBuffer struct {
	content bytes.Buffer
	limit   int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.content.Len()+len(p) > b.limit {
		return 0, errTooLarge
	}
	return b.content.Write(p)
}
