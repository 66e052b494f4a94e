// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// mintPath is where, below the issuer, claims are signed.
const mintPath = "/test-only/mint"

// mint signs claims that no honest provider would sign, for tests: another
// audience, another issuer, an end in the past, a user name that is not the
// user's. It adds and checks nothing.
type mint struct {
	key *signingKey

	mu      sync.Mutex
	foreign *signingKey
}

// mintRequest is the body of a request.
type mintRequest struct {
	// Claims is a JSON object, signed to the letter.
	Claims json.RawMessage `json:"claims"`
	// ForeignKey signs with a key that the provider does not publish, under the
	// name of the one it does.
	ForeignKey bool `json:"foreignKey"`
}

// ServeHTTP answers with the token alone.
func (m *mint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const maxBody = 256 << 10
	var request mintRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !bytes.HasPrefix(request.Claims, []byte("{")) {
		http.Error(w, "claims are no object", http.StatusBadRequest)
		return
	}
	token, err := m.sign(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, token)
}

func (m *mint) sign(request mintRequest) (string, error) {
	if !request.ForeignKey {
		return m.key.sign(request.Claims)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.foreign == nil {
		key, err := newSigningKey()
		if err != nil {
			return "", err
		}
		key.id = m.key.id
		m.foreign = key
	}
	return m.foreign.sign(request.Claims)
}
