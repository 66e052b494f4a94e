// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// row is what became of one mutant.
type row struct {
	policy, rule string
	// with are the twins that were taken out too.
	with []string
	// missed is the case that noticed, wanted and got what it saw.
	noticed, what, wanted, got string
	// equivalent is why nothing can notice.
	equivalent string
}

// report collects rows.
type report struct {
	mu   sync.Mutex
	rows []row
}

func (r *report) add(line row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, line)
}

// table is the report as Markdown.
func (r *report) table() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	out.WriteString("| policy | without | noticed by | want | got |\n|---|---|---|---|---|\n")
	for _, l := range r.rows {
		without := code(l.rule)
		if len(l.with) > 0 {
			without += " and " + code(strings.Join(l.with, "; "))
		}
		if l.equivalent != "" {
			fmt.Fprintf(&out, "| %s | %s | nothing: %s | | |\n", l.policy, without, l.equivalent)
			continue
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s %s | %s |\n", l.policy, without, cell(l.noticed), cell(l.what), code(l.wanted), code(l.got))
	}
	return out.String()
}

var spaces = regexp.MustCompile(`\s+`)

// cell is a text as a cell of a table can have it.
func cell(text string) string {
	return strings.ReplaceAll(spaces.ReplaceAllString(text, " "), "|", "\\|")
}

func code(text string) string {
	const most = 120
	text = cell(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}
