// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testreport turns the event stream of "go test -json" into a short
// report for people and for CI: go's own closing line for every package, the
// whole output of what failed, and a last line "N passed, N failed" that counts
// leaf tests and Ginkgo specs. It owns that presentation only: it starts no
// tests, and it must not turn a failure, a crash or a cut-off stream into
// success. A package that failed and runs again later in the stream counts as it
// ended last; one that passes then is named as flaky, with what failed before.
//
// Usage: go test -json ./... | testreport [-v] [-allow-skips]
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "print all output as it arrives, not only what failed")
	allowSkips := flag.Bool("allow-skips", false, "let skipped tests and pending specs pass")
	flag.Parse()

	r := newReport(os.Stdout, *verbose)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if ok := r.finish(*allowSkips); !ok {
		os.Exit(1)
	}
}
