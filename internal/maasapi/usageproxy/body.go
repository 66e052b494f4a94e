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
