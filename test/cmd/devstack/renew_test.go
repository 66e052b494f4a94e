// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"strings"
	"testing"
)

func TestAProgramIsNotStartedWhereAnotherListens(t *testing.T) {
	t.Parallel()
	config := net.ListenConfig{}
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{state: newState()}
	s.state.Addresses = map[string]string{processService: listener.Addr().String()}
	if err := s.vacant(t.Context(), processService); err == nil || !strings.Contains(err.Error(), "stop your own build first") {
		t.Errorf("error %v, want what to do", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.vacant(t.Context(), processService); err != nil {
		t.Error(err)
	}
}
