// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	// largeBody is how many bytes of a body are read without asking. Honest bodies
	// are smaller.
	largeBody = 64 << 10
	// largeBodies is how many larger bodies are read at a time. What senders can
	// make the service hold is bounded by it, and not by their number.
	largeBodies = 32
	// largeBodyWait is how long one waits for its turn.
	largeBodyWait = 2 * time.Second
)

// ErrBusy is returned for a large body when too many others are being read.
var ErrBusy = errors.New("too many large request bodies are being read")

// turnBody is a body of which no more than the first part is read before it has
// one of the turns.
type turnBody struct {
	io.ReadCloser

	ctx   context.Context //nolint:containedctx // That of the request, whose body this is.
	turns chan struct{}
	read  int
	taken bool
}

// Read reads on, once it is the body's turn.
func (b *turnBody) Read(p []byte) (int, error) {
	if !b.taken {
		if left := largeBody + 1 - b.read; left > 0 {
			n, err := b.ReadCloser.Read(p[:min(len(p), left)])
			b.read += n
			return n, err
		}
		if err := b.take(); err != nil {
			return 0, err
		}
	}
	return b.ReadCloser.Read(p)
}

func (b *turnBody) take() error {
	ctx, cancel := context.WithTimeout(b.ctx, largeBodyWait)
	defer cancel()
	select {
	case b.turns <- struct{}{}:
		b.taken = true
		return nil
	case <-ctx.Done():
		return ErrBusy
	}
}

// release ends the turn; what was read is no longer needed.
func (b *turnBody) release() {
	if b.taken {
		<-b.turns
	}
}
