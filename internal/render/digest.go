// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Digests returns for every template the SHA-256, in hex, of its file and of every
// fragment file that it includes, directly or through others. Two engines with the
// same digest of a template render the same from the same values and images.
func (e *Engine) Digests() map[ID]string {
	digests := make(map[ID]string, len(e.entries))
	for id := range e.entries {
		files := map[string]string{}
		e.collect(string(id), files)
		hash := sha256.New()
		for _, file := range slices.Sorted(maps.Keys(files)) {
			// The length keeps the end of one file from passing for the head of another.
			_, _ = fmt.Fprintf(hash, "%s %d\n%s", file, len(files[file]), files[file]) // a hash takes everything
		}
		digests[id] = hex.EncodeToString(hash.Sum(nil))
	}
	return digests
}

// collect adds the file of a body and those of what it includes; includes have no
// cycles, which loading has made sure of.
func (e *Engine) collect(name string, files map[string]string) {
	src := e.lib.origin[name]
	files[src.file] = src.text
	for _, call := range e.calls[name] {
		e.collect(call.name, files)
	}
}
