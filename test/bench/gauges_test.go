// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"
)

func TestAProcessHasMemoryAndUsesProcessorTime(t *testing.T) {
	t.Parallel()
	held, err := memoryOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if held.now <= 0 || held.peak < held.now {
		t.Errorf("memoryOf(self) = %+v, want a peak that is at least what it holds now", held)
	}
	if _, err := processorTime(os.Getpid()); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	const none = 1 << 30
	if _, err := memoryOf(none); err == nil {
		t.Error("memoryOf() of no process must fail")
	}
	if _, err := processorTime(none); err == nil {
		t.Error("processorTime() of no process must fail")
	}
}
