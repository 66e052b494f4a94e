// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import "errors"

var errForm = errors.New("the answer has no result")

// resultIn is what an answer says of a user's own records: its kind and its result. The
// log store adds statistics of what it read, and counts the records of everybody there.
// A warning becomes one of ours for the same reason.
//
// Answers may be large, and several are worked on at a time: the result is not taken
// apart, and stays where it is in memory.
func resultIn(answer body) (body, error) {
	found, err := membersOf(answer)
	switch {
	case err != nil:
		return body{}, err
	case !found.status.is(`"success"`) || found.kind.size == 0 || found.result.size == 0:
		return body{}, errForm
	}
	end := "}}"
	if found.warnings.size > 0 && !found.warnings.is("null") && !found.warnings.is("[]") {
		end = `},"warnings":["The log store warns that this may not be all"]}`
	}
	return joined(bodyOf([]byte(`{"status":"success","data":{"resultType":`)), found.kind, bodyOf([]byte(`,"result":`)), found.result, bodyOf([]byte(end))), nil
}

// members are the values of an answer that matter.
type members struct{ status, warnings, kind, result body }

// membersOf reads an answer to its end.
func membersOf(answer body) (members, error) {
	s := &scanner{from: answer}
	var found members
	outer := map[string]*body{"status": &found.status, "warnings": &found.warnings}
	inner := map[string]*body{"resultType": &found.kind, "result": &found.result}
	err := s.members(func(name string) error {
		if name == "data" {
			return s.members(func(name string) error { return s.value(inner[name]) })
		}
		return s.value(outer[name])
	})
	if err == nil && s.next() != 0 {
		err = errForm
	}
	return found, err
}

// scanner finds values in JSON without reading them. Of what is no JSON it either
// returns an error, or a value that is none.
type scanner struct {
	from body
	// piece and at are where the scanner is in the pieces, and offset in the whole.
	piece, at, offset int
}

// peek is the next byte, or zero at the end.
func (s *scanner) peek() byte {
	for s.piece < len(s.from.pieces) && s.at >= len(s.from.pieces[s.piece]) {
		s.piece, s.at = s.piece+1, 0
	}
	if s.piece >= len(s.from.pieces) {
		return 0
	}
	return s.from.pieces[s.piece][s.at]
}

func (s *scanner) step() byte {
	b := s.peek()
	if b != 0 {
		s.at, s.offset = s.at+1, s.offset+1
	}
	return b
}

// next is the next byte behind white space.
func (s *scanner) next() byte {
	for {
		switch b := s.peek(); b {
		case ' ', '\t', '\r', '\n':
			s.step()
		default:
			return b
		}
	}
}

// take steps over a byte that must come next.
func (s *scanner) take(b byte) error {
	if s.next() != b {
		return errForm
	}
	s.step()
	return nil
}

// members calls a function for each member of the object that comes next. It must step
// over the member's value.
func (s *scanner) members(each func(name string) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		if s.next() == '}' {
			return s.take('}')
		}
		if !first {
			if err := s.take(','); err != nil {
				return err
			}
		}
		var name body
		if s.next() != '"' {
			return errForm
		}
		if err := s.value(&name); err != nil {
			return err
		}
		if err := s.take(':'); err != nil {
			return err
		}
		if err := each(name.short()); err != nil {
			return err
		}
	}
}

// value steps over the value that comes next, and notes where it is.
func (s *scanner) value(found *body) error {
	s.next()
	start := s.offset
	if err := s.skip(); err != nil {
		return err
	}
	if found != nil {
		*found = s.from.part(start, s.offset)
	}
	return nil
}

func (s *scanner) skip() error {
	for depth := 0; ; {
		switch s.peek() {
		case 0:
			return errForm
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.step()
		case '}', ']':
			if depth--; depth < 0 {
				return errForm
			}
			s.step()
		default:
			if depth == 0 {
				return s.word()
			}
			s.step()
		}
		if depth == 0 {
			return nil
		}
	}
}

// word steps over a number, true, false or null.
func (s *scanner) word() error {
	start := s.offset
	for {
		switch s.peek() {
		case 0, ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
			if s.offset == start {
				return errForm
			}
			return nil
		default:
			s.step()
		}
	}
}

func (s *scanner) text() error {
	s.step()
	for {
		switch s.step() {
		case 0:
			return errForm
		case '"':
			return nil
		case '\\':
			s.step()
		}
	}
}
