// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"
	"time"
)

func TestWhatDoesNotEndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	release, ended := make(chan struct{}), make(chan struct{})
	err := within(time.Millisecond, "connections", func() error {
		defer close(ended)
		<-release
		return nil
	})
	if err == nil || err.Error() != "connections did not end within 1ms" {
		t.Errorf("error %v", err)
	}
	close(release)
	<-ended
	failure := errors.New("failed")
	if err := within(time.Minute, "connections", func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}
