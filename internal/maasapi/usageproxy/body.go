// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxBody is the largest answer of the log store, in bytes.
	maxBody = 10 << 20
	// chunk is how much memory is taken at a time for an answer.
	chunk = 64 << 10
)

var errTooLarge = errors.New("the answer is larger than 10 MiB")

// body is an answer in memory. Its pieces are never changed.
type body struct {
	pieces [][]byte
	size   int
}

func bodyOf(text []byte) body { return body{pieces: [][]byte{text}, size: len(text)} }

// readBody reads an answer up to a bound, in pieces: growing one buffer would take
// several times as much.
func readBody(r io.Reader, most int) (body, error) {
	var b body
	for {
		piece := make([]byte, min(chunk, most+1-b.size))
		length := 0
		var err error
		for length < len(piece) && err == nil {
			var n int
			n, err = r.Read(piece[length:])
			length += n
		}
		if length > 0 {
			b.pieces = append(b.pieces, piece[:length:length])
			b.size += length
		}
		switch {
		case b.size > most:
			return body{}, errTooLarge
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return body{}, fmt.Errorf("read the answer: %w", err)
		}
	}
}

func (b body) reader() io.Reader {
	readers := make([]io.Reader, 0, len(b.pieces))
	for _, piece := range b.pieces {
		readers = append(readers, bytes.NewReader(piece))
	}
	return io.MultiReader(readers...)
}

// WriteTo implements [io.WriterTo].
func (b body) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, piece := range b.pieces {
		n, err := w.Write(piece)
		written += int64(n)
		if err != nil {
			return written, fmt.Errorf("write an answer: %w", err)
		}
	}
	return written, nil
}

// part is what is between two offsets, in the same memory.
func (b body) part(start, end int) body {
	var out body
	for _, piece := range b.pieces {
		if from, to := max(start, 0), min(end, len(piece)); from < to {
			out.pieces = append(out.pieces, piece[from:to:to])
			out.size += to - from
		}
		start, end = start-len(piece), end-len(piece)
	}
	return out
}

// joined is one behind the other, in the same memory.
func joined(parts ...body) body {
	var out body
	for _, part := range parts {
		out.pieces = append(out.pieces, part.pieces...)
		out.size += part.size
	}
	return out
}

// maxShort is the longest text that is compared, in bytes.
const maxShort = 64

// is tells whether it is a text, a short one.
func (b body) is(text string) bool { return b.size == len(text) && b.whole() == text }

// short is the text between two quotes, or nothing when it is longer than any that
// matters.
func (b body) short() string {
	if b.size < 2 || b.size > maxShort {
		return ""
	}
	text := b.whole()
	return text[1 : len(text)-1]
}

func (b body) whole() string { return string(bytes.Join(b.pieces, nil)) }
