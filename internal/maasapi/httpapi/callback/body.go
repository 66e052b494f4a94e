// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// keyOf returns the member "key" of a JSON object as encoding/json would
// decode it, but for invalid UTF-8, which no key has and which is left as it
// is. It overwrites parts of the body, of which the key is one, and allocates
// nothing. It returns false for anything but one object whose key, if there is
// one, is a text.
func keyOf(body []byte) (key []byte, ok bool) {
	if !json.Valid(body) {
		return nil, false
	}
	// From here on, the syntax is known to be right.
	i := space(body, 0)
	if body[i] != '{' {
		return nil, false
	}
	for i = space(body, i+1); body[i] != '}'; i = space(body, i) {
		if body[i] == ',' {
			i = space(body, i+1)
		}
		name := body[i+1 : endOfText(body, i)-1]
		i = space(body, endOfText(body, i)) // The colon.
		i = space(body, i+1)
		end := endOfValue(body, i)
		if bytes.EqualFold(unescape(name), []byte("key")) {
			switch body[i] {
			case '"':
				key = unescape(body[i+1 : end-1])
			case 'n': // Null, which changes nothing.
			default:
				return nil, false
			}
		}
		i = end
	}
	return key, true
}

func space(body []byte, i int) int {
	for body[i] == ' ' || body[i] == '\t' || body[i] == '\r' || body[i] == '\n' {
		i++
	}
	return i
}

// endOfText returns the place after the text that begins at i.
func endOfText(body []byte, i int) int {
	for i++; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// endOfValue returns the place after the value that begins at i.
func endOfValue(body []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch body[i] {
		case '"':
			i = endOfText(body, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			// A number or a word, or what stands between values.
			if depth > 0 {
				continue
			}
			for bytes.IndexByte([]byte("+-.0123456789Eaeflnrstu"), body[i+1]) >= 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// unescape resolves the escapes of a text in its own place.
func unescape(text []byte) []byte {
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	out := text[:at]
	for i := at; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		i++
		switch text[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hexadecimal(text[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if bytes.HasPrefix(text[i+1:], []byte(`\u`)) {
					second = hexadecimal(text[i+3:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					i += 6
				}
			}
			// Never longer than its escape.
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, text[i])
		}
	}
	return out
}

func hexadecimal(text []byte) rune {
	n, err := strconv.ParseUint(string(text[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n) //nolint:gosec // Four digits fit.
}

// appendText appends a JSON string. It escapes what encoding/json escapes, and
// replaces invalid UTF-8 as that does.
func appendText(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch r {
		case '\u2028', '\u2029':
			dst = append(dst, `\u202`...)
			dst = append(dst, digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
