// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var errInvalidUTF8 = errors.New("text is not valid UTF-8; refuse or repair it where the values are built")

// quote returns a double-quoted scalar that YAML and JSON both read back to
// exactly the same string. It is one line. Everything outside printable ASCII
// up to U+FFFF is escaped: some of it is a line break or forbidden in YAML.
// Above that a raw character is the one spelling both languages share. '<' is
// escaped too, so that the "<nil>" and "<no value>" the template package
// prints can be told from what a user wrote.
func quote(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errInvalidUTF8
	}
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '<' || r < 0x20 || r >= 0x7f && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}
