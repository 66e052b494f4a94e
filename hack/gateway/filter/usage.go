// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// usage reads values out of the body of a reply.
type usage interface {
	add(piece []byte)
	// find returns the scalar at a JSON pointer.
	find(pointer string) (any, bool)
}

// whole reads a reply that is one JSON document.
type whole struct{ body bytes.Buffer }

func (w *whole) add(piece []byte) { w.body.Write(piece) }

func (w *whole) find(pointer string) (any, bool) { return lookUp(w.body.Bytes(), pointer) }

// events reads a reply that is a stream of events. Values are taken from the event
// before the last one, whatever it is: where a model ends its stream with [DONE],
// that is the one with the usage. (Known from the public source of wasm-shim, which
// keeps the last two events.)
type events struct {
	rest             []byte // A line that has not ended.
	skipNewline      bool   // The line before ended with a carriage return.
	data             []string
	last, beforeLast *string
}

func (e *events) add(piece []byte) {
	for _, c := range piece {
		if e.skipNewline && c == '\n' {
			e.skipNewline = false
			continue
		}
		e.skipNewline = c == '\r'
		if c != '\n' && c != '\r' {
			e.rest = append(e.rest, c)
			continue
		}
		e.line(string(e.rest))
		e.rest = e.rest[:0]
	}
}

func (e *events) line(line string) {
	if line == "" {
		if len(e.data) > 0 {
			e.beforeLast, e.last = e.last, new(strings.Join(e.data, "\n"))
		}
		e.data = nil
		return
	}
	name, value, _ := strings.Cut(line, ":")
	if value = strings.TrimPrefix(value, " "); name == "data" && (value != "" || len(e.data) > 0) {
		e.data = append(e.data, value)
	}
}

func (e *events) find(pointer string) (any, bool) {
	if e.beforeLast == nil {
		return nil, false
	}
	return lookUp([]byte(*e.beforeLast), pointer)
}

// lookUp finds a scalar by a JSON pointer. A whole number that is not negative is
// unsigned.
func lookUp(text []byte, pointer string) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() || !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch node := value.(type) {
		case map[string]any:
			next, ok := node[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			value = node[i]
		default:
			return nil, false
		}
	}
	switch v := value.(type) {
	case bool, string:
		return v, true
	case json.Number:
		return number(v)
	default:
		return nil, false
	}
}

func number(n json.Number) (any, bool) {
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u, true
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	return f, err == nil
}
