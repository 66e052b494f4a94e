// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one line of "go test -json"; go doc test2json describes it.
type event struct {
	Action     string
	Package    string
	ImportPath string // Of build events, instead of Package.
	Test       string
	Output     string
}

// tally counts results.
type tally struct {
	passed, failed, skipped int
}

func (t *tally) add(o tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.skipped += o.skipped
}

// test is what is known about one test or subtest of a package.
type test struct {
	output  strings.Builder
	outcome string // "pass", "fail", "skip"; empty while it runs.
	parent  bool   // Has subtests, which are counted in its place.
	specs   *tally // Ginkgo's own count, when the test runs a suite.
}

// pkg is what is known about one package.
type pkg struct {
	output  strings.Builder // Lines that belong to no test.
	tests   map[string]*test
	outcome string
	empty   bool // Without test files.
	before  *pkg // The run that failed, when the package runs again.
}

// report collects events and prints each package when it ends.
type report struct {
	out      io.Writer
	verbose  bool
	packages map[string]*pkg
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, packages: map[string]*pkg{}}
}

// read consumes the stream to its end. Lines that are no events (a failing go
// command prints some) are passed on as they are.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.handle(e)
			} else {
				r.print(string(line))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read test events: %w", err)
		}
	}
}

func (r *report) handle(e event) {
	switch e.Action {
	case "build-output":
		r.print(e.Output)
		return
	case "build-fail": // The package's own "fail" follows.
		return
	}
	p := r.pkg(e.Package)
	switch {
	case e.Action == "start" && p.outcome == "fail":
		r.packages[e.Package] = &pkg{tests: map[string]*test{}, before: p}
	case e.Action == "output" && r.verbose:
		r.print(e.Output)
		fallthrough
	case e.Action == "output":
		p.record(e)
	case e.Action == "pass", e.Action == "fail", e.Action == "skip":
		if e.Test != "" {
			p.test(e.Test).outcome = e.Action
			return
		}
		p.outcome = e.Action
		if !r.verbose {
			r.print(p.closing())
		}
	}
}

func (r *report) pkg(name string) *pkg {
	if r.packages[name] == nil {
		r.packages[name] = &pkg{tests: map[string]*test{}}
	}
	return r.packages[name]
}

// finish prints the totals and says whether everything passed. A stream
// without a single finished package is a failure: nothing has been shown.
func (r *report) finish(allowSkips bool) bool {
	var total tally
	var ok, failed, empty, flaky int
	var skipped []string
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		p := r.packages[name]
		t, names := p.count()
		total.add(t)
		for _, n := range names {
			skipped = append(skipped, name+" "+n)
		}
		switch {
		case p.empty:
			empty++
		case p.outcome == "pass", p.outcome == "skip":
			ok++
		default:
			failed++
		}
		if p.before != nil && p.outcome == "pass" {
			flaky++
			r.print("flaky: " + name + ", which passed when it ran again: " + strings.Join(p.before.failures(), ", ") + "\n")
		}
	}
	for _, s := range skipped {
		r.print("skipped: " + s + "\n")
	}
	good := failed == 0 && total.failed == 0 && ok > 0 && (allowSkips || total.skipped == 0)
	r.print(fmt.Sprintf("packages: %d ok, %d of them flaky, %d failed, %d without tests; skipped tests: %d\n", ok, flaky, failed, empty, total.skipped))
	r.print(fmt.Sprintf("%d passed, %d failed\n", total.passed, total.failed))
	return good
}

func (r *report) print(s string) {
	_, _ = io.WriteString(r.out, s)
}

func (p *pkg) test(name string) *test {
	if p.tests[name] == nil {
		p.tests[name] = &test{}
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			p.test(name[:i]).parent = true
		}
	}
	return p.tests[name]
}

func (p *pkg) record(e event) {
	if e.Test == "" {
		p.output.WriteString(e.Output)
		p.empty = p.empty || strings.Contains(e.Output, "[no test files]")
		return
	}
	t := p.test(e.Test)
	t.output.WriteString(e.Output)
	if s, ok := ginkgoTally(e.Output); ok {
		t.specs = &s
	}
}

// closing returns what is worth reading about a package that has ended: one
// line when it passed; every word of it that belongs to a failure otherwise.
func (p *pkg) closing() string {
	own := p.output.String()
	if p.outcome != "fail" {
		return lastLine(own)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		// A test without an outcome was running when the process died.
		if t := p.tests[name]; t.outcome == "fail" || t.outcome == "" {
			b.WriteString(t.output.String())
		}
	}
	b.WriteString(own)
	return b.String()
}

// count returns the numbers of the package's leaf tests and the names of the
// skipped ones.
func (p *pkg) count() (tally, []string) {
	var sum tally
	var skipped []string
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		t := p.tests[name]
		if t.parent {
			continue
		}
		c := t.count()
		if c.skipped > 0 {
			skipped = append(skipped, name)
		}
		sum.add(c)
	}
	if p.failedItself() && sum.failed == 0 {
		sum.failed++
	}
	return sum, skipped
}

// failures are the names of the tests that failed, or were running when the process
// died.
func (p *pkg) failures() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		if t := p.tests[name]; !t.parent && (t.outcome == "fail" || t.outcome == "") {
			names = append(names, name)
		}
	}
	return names
}

// failedItself says that the package failed or never ended, for example by a
// panic in TestMain or an interrupted stream.
func (p *pkg) failedItself() bool {
	return p.outcome == "fail" || p.outcome == ""
}

func (t *test) count() tally {
	switch {
	case t.outcome == "pass" && t.specs != nil:
		return *t.specs
	case t.outcome == "pass":
		return tally{passed: 1}
	case t.outcome == "skip":
		return tally{skipped: 1}
	case t.specs != nil && t.specs.failed > 0:
		return *t.specs
	default:
		return tally{failed: 1}
	}
}

// ansi matches the colour codes that Ginkgo writes.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// specs matches the closing line of a Ginkgo suite.
var specs = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped`)

func ginkgoTally(line string) (tally, bool) {
	m := specs.FindStringSubmatch(ansi.ReplaceAllString(line, ""))
	if m == nil {
		return tally{}, false
	}
	n := make([]int, len(m))
	for i, s := range m[1:] {
		n[i], _ = strconv.Atoi(s) // Digits only, by the pattern.
	}
	return tally{passed: n[0], failed: n[1], skipped: n[2] + n[3]}, true
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s + "\n"
}
