// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import "net/http"

const (
	// maxDrained is how much of a body that no handler wanted is read, in bytes.
	maxDrained = 64 << 10
	drainChunk = 4 << 10
)

// drain reads what is left of a small body, so that an answer given without it
// ends as others do. With HTTP/2 the server otherwise resets the stream behind
// the answer, which some clients take for a failure. Over HTTP/1 the server does
// the same by itself. The listener's bound of time for a body holds here too.
func (h *Handler) drain(r *http.Request) {
	if r.ProtoMajor < 2 || r.Body == nil || r.ContentLength > maxDrained || r.Header.Get("Expect") != "" {
		return
	}
	chunk, found := h.drained.Get().(*[drainChunk]byte)
	if !found {
		chunk = new([drainChunk]byte)
	}
	for left := maxDrained + 1; left > 0; {
		n, err := r.Body.Read(chunk[:])
		if left -= n; err != nil {
			break
		}
	}
	h.drained.Put(chunk)
}
