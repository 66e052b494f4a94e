// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

// fate is what became of a program that should run until it is stopped: whether it
// ended by itself once, and why. It is safe for concurrent use.
type fate struct {
	done chan struct{}
	once sync.Once
	// err is set before done is closed.
	err error
}

func newFate() *fate { return &fate{done: make(chan struct{})} }

// seal is for the first end; further ones are ignored.
func (f *fate) seal(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

func (f *fate) reason() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// guard is a transport that fails once the program has ended by itself: nothing that
// a test finds out afterwards means anything.
func (f *fate) guard(next http.RoundTripper) http.RoundTripper { return guarded{f, next} }

type guarded struct {
	fate *fate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.fate.reason(); err != nil {
		return nil, err
	}
	return g.next.RoundTrip(request)
}

// life is one process of a program, from when it is ready.
type life struct {
	process *process.Process
	// stopped is set by whoever ends it.
	stopped atomic.Bool
	// judged is closed after it ended, and its end was found to be in order or not.
	judged chan struct{}
}

// begin watches over a process until it ends.
func begin(p *process.Process, f *fate) *life {
	l := &life{process: p, judged: make(chan struct{})}
	go func() {
		defer close(l.judged)
		<-p.Done()
		if !l.stopped.Load() {
			f.seal(unwanted(p))
		}
	}()
	return l
}

func unwanted(p *process.Process) error {
	return fmt.Errorf("%s (process %d) ended by itself with %d; from %s:\n%s", p.Name, p.PID, p.ExitCode(), p.Log, p.Excerpt())
}

// survivedPanic is what a process says of a panic in a reconciler or a webhook that it
// survived: nobody else notices, because the work is tried again.
func survivedPanic(p *process.Process) error {
	const sign = "Observed a panic"
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return fmt.Errorf("look for panics: %w", err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, sign) {
			return fmt.Errorf("%s panicked; from %s:\n%s", p.Name, p.Log, line)
		}
	}
	return nil
}

// over tells whether the process has ended, as it should or not.
func (l *life) over() bool {
	select {
	case <-l.process.Done():
		<-l.judged
		return true
	default:
		return false
	}
}
