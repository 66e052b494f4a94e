// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which build of the project is running. It owns the
// three facts that the linker stamps into every binary and nothing else: it
// reads no environment, no file and no clock, and imports only the standard
// library, so that every other package may import it.
package version

import (
	"fmt"
	"runtime"
	"strings"
)

// development ends the version of a build that nobody released.
const development = "-dev"

// The linker sets these three (see LDFLAGS in the Makefile); nothing else may
// write them. A plain "go build" leaves the defaults.
var (
	version = "0.0.0-dev"
	commit  = "unknown"
	date    = "unknown"
)

// Info describes one build.
type Info struct {
	// Version is the semantic version without a leading "v", for example "0.1.0".
	Version string `json:"version"`
	// Commit is the abbreviated git commit, with the suffix "-dirty" when the
	// tree had changes.
	Commit string `json:"commit"`
	// Date is the time of that commit in RFC 3339, not the time of the build,
	// so that the same sources give the same binary.
	Date string `json:"date"`
	// GoVersion is the release of Go that compiled the binary.
	GoVersion string `json:"goVersion"`
}

// Get returns what the linker stamped into this binary.
func Get() Info {
	return Info{Version: version, Commit: commit, Date: date, GoVersion: runtime.Version()}
}

// String returns the one line that --version prints after the program's name.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s)", i.Version, i.Commit, i.Date, i.GoVersion)
}

// Release tells whether somebody released this build: its version is not one of
// development. A release trusts nothing that is only good for development.
func (i Info) Release() bool { return !strings.HasSuffix(i.Version, development) }
