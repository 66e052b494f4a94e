// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// everyController, in --controllers, stands for all of them.
const everyController = "*"

// selected tells whether a controller is to run. An entry of its own counts more
// than the one for all; without either it does not run.
func selected(entries []string, name string) bool {
	switch {
	case slices.Contains(entries, "-"+name):
		return false
	case slices.Contains(entries, name):
		return true
	default:
		return slices.Contains(entries, everyController)
	}
}

// selectionProblem says what is wrong with the value of --controllers, or nothing.
func selectionProblem(entries []string) string {
	known := selectable()
	for _, entry := range entries {
		if name := strings.TrimPrefix(entry, "-"); entry != everyController && !slices.Contains(known, name) {
			return fmt.Sprintf("names %q, which is no controller: use %s for all, or names among %s, with - before those to leave out", name, everyController, strings.Join(known, ", "))
		}
	}
	if !slices.ContainsFunc(known, func(name string) bool { return selected(entries, name) }) {
		return fmt.Sprintf("selects no controller: use %s for all", everyController)
	}
	return ""
}

// selectable are the names of the controllers that --controllers chooses from,
// in the order in which they are set up.
func selectable() []string {
	var names []string
	for _, row := range controllers() {
		if !row.always {
			names = append(names, row.name)
		}
	}
	return names
}
