// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

const (
	// DefaultMaxBody is the largest request body of a route that sets no other
	// bound, in bytes.
	DefaultMaxBody = 1 << 20
	// MaxDepth is how deep objects and arrays of a request body may nest.
	MaxDepth = 32
	// MaxValues is how many commas may part the members and elements of a request
	// body: many more than any call has use for, and few enough that the values take
	// no multiple of the text's memory.
	MaxValues = 10_000

	contentJSON = "application/json; charset=utf-8"
	maxField    = 64
)

var (
	// ErrTooLarge is a body above the bound of its route: answer 413.
	ErrTooLarge = errors.New("the request body is too large")
	// ErrEmpty is a request without a body, or with white space only.
	ErrEmpty = errors.New("the request body is empty")
)

// DecodeError is a body that cannot be decoded. Its text names the place and
// never repeats what the client sent, so it may be shown: answer 400.
type DecodeError struct {
	text string
}

// NewDecodeError returns a DecodeError; an UnmarshalJSON method can use it to
// say what is wrong. The text reaches the client.
func NewDecodeError(text string) *DecodeError {
	return &DecodeError{text: text}
}

// Error returns the text for the client.
func (e *DecodeError) Error() string {
	return e.text
}

// WriteJSON answers with a status and a body in JSON. A body that cannot be
// encoded is a fault of ours and becomes a 500 without a body.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	WriteBytes(w, status, encoded)
}

// WriteBytes answers with a body that is JSON already.
func WriteBytes(w http.ResponseWriter, status int, encoded []byte) {
	header := w.Header()
	header.Set("Content-Type", contentJSON)
	header.Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // The client is gone; there is nobody to tell.
}

// DecodeJSON decodes the first JSON value of the body. Members that into does
// not know are ignored, and so is what follows the first value. It returns
// [ErrEmpty], [ErrTooLarge] (the whole body counts), [ErrBusy], or a [*DecodeError] for
// everything a client can do wrong, among it nesting deeper than [MaxDepth],
// more than [MaxValues] and the character NUL, which PostgreSQL cannot store.
func DecodeJSON(r *http.Request, into any) error {
	body, err := ReadBody(r)
	if err != nil {
		return err
	}
	if err := inspect(body); err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return decodeError(err)
	}
	return nil
}

// ReadBody returns the whole body, or [ErrEmpty], [ErrTooLarge], [ErrBusy] or a
// [*DecodeError] when the client stops sending it.
func ReadBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, ErrEmpty
	}
	body, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, fmt.Errorf("%w (the bound is %d bytes)", ErrTooLarge, tooLarge.Limit)
	}
	if errors.Is(err, ErrBusy) {
		return nil, err
	}
	if err != nil {
		return nil, NewDecodeError("The request body ended too early")
	}
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil, ErrEmpty
	}
	return body, nil
}

// WriteDecodeError answers for an error of [DecodeJSON]: 413, 503 or 400 in the
// family of the route.
func WriteDecodeError(w http.ResponseWriter, family Family, err error) {
	var decode *DecodeError
	switch {
	case errors.Is(err, ErrTooLarge):
		WriteFamily(w, family, http.StatusRequestEntityTooLarge, "The request body is too large")
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "1")
		WriteFamily(w, family, http.StatusServiceUnavailable, "The service is reading too many large request bodies: try again in a moment")
	case errors.Is(err, ErrEmpty):
		WriteFamily(w, family, http.StatusBadRequest, "The request body is empty; send a JSON object")
	case errors.As(err, &decode):
		WriteFamily(w, family, http.StatusBadRequest, decode.text)
	default:
		WriteFamily(w, family, http.StatusBadRequest, "The request body cannot be read")
	}
}

// inspect walks over the first value of a body without decoding it. It leaves
// faults of syntax to the decoder.
func inspect(body []byte) error {
	depth, values, inString := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			if bytes.HasPrefix(body[i+1:], []byte("u0000")) {
				return NewDecodeError("The request body has the character NUL in a text")
			}
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == ',':
			if values++; values > MaxValues {
				return NewDecodeError("The request body has more than " + strconv.Itoa(MaxValues) + " values")
			}
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return NewDecodeError("The request body nests deeper than " + strconv.Itoa(MaxDepth) + " levels")
			}
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return nil
			}
		}
	}
	return nil
}

func decodeError(err error) error {
	var (
		known  *DecodeError
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &syntax):
		return NewDecodeError("The request body is no valid JSON: see byte " + strconv.FormatInt(syntax.Offset, 10))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return NewDecodeError("The request body is no valid JSON: it ends too early")
	case errors.As(err, &kind) && kind.Field != "" && len(kind.Field) <= maxField:
		return NewDecodeError("The member " + strconv.QuoteToASCII(kind.Field) + " of the request body has the wrong type")
	case errors.As(err, &kind):
		return NewDecodeError("The request body or one of its members has the wrong type")
	default:
		return NewDecodeError("The request body does not have the form this call expects")
	}
}
