// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress tells a person what happens and how long it took.
type progress struct {
	out   io.Writer
	began time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, began: time.Now()} }

// step runs one part of the work between two lines of output.
func (p *progress) step(what string, work func() error) error {
	began := time.Now()
	fmt.Fprintf(p.out, "==> %s\n", what)
	if err := work(); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "    done in %s\n", rounded(time.Since(began)))
	return nil
}

// say prints a line below the current step.
func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.out, "    "+format+"\n", args...)
}

// total prints how long everything took so far.
func (p *progress) total(what string) {
	fmt.Fprintf(p.out, "==> %s after %s\n", what, rounded(time.Since(p.began)))
}

// Write passes on the output of others as lines below the current step.
func (p *progress) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		p.say("%s", strings.TrimRight(line, "\n"))
	}
	return len(b), nil
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
