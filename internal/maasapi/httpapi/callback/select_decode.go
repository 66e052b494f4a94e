// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Messages for bodies that cannot be read. They repeat nothing of the body: the
// gateway shows them to its clients.
const (
	bodyTooLarge  = "invalid request body: it is larger than 65536 bytes"
	bodyCutOff    = "invalid request body: it ended too early"
	bodyNoObject  = "invalid request body: it is not a JSON object"
	bodyNoJSON    = "invalid request body: it is not valid JSON"
	bodyTooDeep   = "invalid request body: it nests too deep"
	bodyNoText    = "invalid request body: username, requestedSubscription and requestedModel must be strings"
	bodyNoGroups  = "invalid request body: groups must be an array of strings"
	bodyNoUTF8    = "invalid request body: it is not UTF-8"
	bodyNoSubject = "invalid request body: username is required"
)

// maxDepth is how deep members that nobody asked for may nest.
const maxDepth = 32

// selectRequest is the body of a selection request.
type selectRequest struct {
	username, subscription, model string
	groups                        []string
}

func malformed(message string) error {
	return entitlement.Refusal{Code: entitlement.CodeBadRequest, Message: message}
}

// decodeSelect reads a body as encoding/json would read it into a struct, but without
// reflection, with names of members that match exactly, and with strings that are
// parts of the body. Of members that come twice the last one counts, unknown ones
// and what follows the object are ignored.
func decodeSelect(body string) (selectRequest, error) {
	var r selectRequest
	if !utf8.ValidString(body) {
		return r, malformed(bodyNoUTF8)
	}
	d := decoder{text: body}
	if d.next() != '{' {
		return r, malformed(bodyNoObject)
	}
	d.at++
	if err := d.members(&r); err != nil {
		return r, err
	}
	if r.username == "" {
		return r, malformed(bodyNoSubject)
	}
	return r, nil
}

// decoder walks over a JSON text.
type decoder struct {
	text string
	at   int
}

// next skips white space and returns the byte that follows, or 0 at the end.
func (d *decoder) next() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and the given byte, and tells whether it was there.
func (d *decoder) take(c byte) bool {
	if d.next() != c {
		return false
	}
	d.at++
	return true
}

// members reads an object after its opening bracket.
func (d *decoder) members(r *selectRequest) error {
	if d.take('}') {
		return nil
	}
	for {
		if d.next() != '"' {
			return malformed(bodyNoJSON)
		}
		name, err := d.string()
		if err != nil {
			return err
		}
		if !d.take(':') {
			return malformed(bodyNoJSON)
		}
		if err := d.member(name, r); err != nil {
			return err
		}
		if d.take('}') {
			return nil
		}
		if !d.take(',') {
			return malformed(bodyNoJSON)
		}
	}
}

func (d *decoder) member(name string, r *selectRequest) error {
	switch name {
	case "username":
		return d.name(&r.username)
	case "requestedSubscription":
		return d.name(&r.subscription)
	case "requestedModel":
		return d.name(&r.model)
	case "groups":
		return d.list(&r.groups)
	default:
		return d.skip()
	}
}

// null skips a null, which stands for a member that is not there.
func (d *decoder) null() bool {
	d.next()
	if !strings.HasPrefix(d.text[d.at:], "null") {
		return false
	}
	d.at += len("null")
	return true
}

// name reads a string that a member must be.
func (d *decoder) name(into *string) error {
	if d.null() {
		return nil
	}
	if d.next() != '"' {
		return malformed(bodyNoText)
	}
	value, err := d.string()
	*into = value
	return err
}

// list reads an array of strings.
func (d *decoder) list(into *[]string) error {
	if d.null() {
		*into = nil
		return nil
	}
	if !d.take('[') {
		return malformed(bodyNoGroups)
	}
	// Most lists have no comma inside a name; a few entries too many do no harm.
	end := max(strings.IndexByte(d.text[d.at:], ']'), 0)
	list := make([]string, 0, 1+strings.Count(d.text[d.at:d.at+end], ","))
	if d.take(']') {
		*into = list
		return nil
	}
	for {
		if d.next() != '"' {
			return malformed(bodyNoGroups)
		}
		value, err := d.string()
		if err != nil {
			return err
		}
		list = append(list, value)
		if d.take(']') {
			*into = list
			return nil
		}
		if !d.take(',') {
			return malformed(bodyNoJSON)
		}
	}
}

// string reads a string at its opening quote. One without escapes is a part of the
// text.
func (d *decoder) string() (string, error) {
	start, escaped := d.at, false
	for i := d.at + 1; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return "", malformed(bodyNoJSON)
		case c == '"':
			d.at = i + 1
			if !escaped {
				return d.text[start+1 : i], nil
			}
			var value string
			if json.Unmarshal([]byte(d.text[start:d.at]), &value) != nil {
				return "", malformed(bodyNoJSON)
			}
			return value, nil
		}
	}
	return "", malformed(bodyNoJSON)
}

// skip passes over a value of any kind.
func (d *decoder) skip() error {
	d.next()
	start, depth := d.at, 0
	for d.at < len(d.text) {
		switch d.next() {
		case '"':
			if _, err := d.string(); err != nil {
				return err
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return malformed(bodyTooDeep)
			}
			d.at++
		case '}', ']':
			if depth == 0 {
				return malformed(bodyNoJSON) // There is no value.
			}
			depth--
			d.at++
		case ',', ':':
			d.at++
		default:
			d.at += literal(d.text[d.at:])
		}
		if depth == 0 {
			break // A value is complete.
		}
	}
	d.at = min(d.at, len(d.text))
	if !json.Valid([]byte(d.text[start:d.at])) {
		return malformed(bodyNoJSON)
	}
	return nil
}

// literal is the length of what is no string, object or array; at least 1.
func literal(text string) int {
	return max(1, len(text)-len(strings.TrimLeft(text, "-+.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")))
}
