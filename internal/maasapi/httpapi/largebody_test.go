// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		size, taken int
		want        error
	}{
		"a small one needs no turn":             {size: largeBody, taken: largeBodies},
		"a large one has the last turn":         {size: largeBody + 2, taken: largeBodies - 1},
		"a large one is refused without a turn": {size: largeBody + 2, taken: largeBodies, want: ErrBusy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := make(chan struct{}, largeBodies)
			for range test.taken {
				turns <- struct{}{}
			}
			ctx, cancel := context.WithCancel(t.Context())
			body := &turnBody{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, test.size))), ctx: ctx, turns: turns}
			if test.want != nil {
				cancel() // As the end of its wait does.
			}
			defer cancel()
			if n, err := io.Copy(io.Discard, body); !errors.Is(err, test.want) || (err == nil && n != int64(test.size)) {
				t.Errorf("%d bytes were read, %v; want %v", n, err, test.want)
			}
			body.release()
			if len(turns) != test.taken {
				t.Errorf("%d turns are taken at the end, want %d", len(turns), test.taken)
			}
		})
	}
}
