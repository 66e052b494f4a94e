// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// format is how a list is shown.
type format string

const (
	formatTable format = "table"
	formatYAML  format = "yaml"
	formatJSON  format = "json"
)

// String, Set and Type make it a flag.
func (f *format) String() string { return string(*f) }

// Set takes the value of the flag.
func (f *format) Set(text string) error {
	switch format(text) {
	case formatTable, formatYAML, formatJSON:
		*f = format(text)
		return nil
	default:
		return fmt.Errorf("%q is not one of table, yaml, json", text)
	}
}

// Type names the kind of value in help texts.
func (*format) Type() string { return "format" }

// bindFormat declares -o.
func bindFormat(cmd *cobra.Command) *format {
	f := formatTable
	cmd.Flags().VarP(&f, "output", "o", "table, yaml or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions( // fails for unknown flags only
		[]string{string(formatTable), string(formatYAML), string(formatJSON)}, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// show writes a value as YAML or JSON, or rows as a table.
func show(out io.Writer, f format, value any, header []string, rows [][]string) error {
	switch f {
	case formatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	case formatYAML:
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	default:
		return table(out, header, rows)
	}
}

func table(out io.Writer, header []string, rows [][]string) error {
	const gap = 3
	w := tabwriter.NewWriter(out, 0, 0, gap, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
