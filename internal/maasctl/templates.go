// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

func newTemplates() *cobra.Command {
	return group("templates", "Show and check the templates all objects are rendered from",
		newTemplatesList(), newTemplatesShow(), newTemplatesExport(), newTemplatesLint(), newTemplatesLock(), newTemplatesDiff())
}

// templateRow is what is told about a template.
type templateRow struct {
	ID         render.ID `json:"id"`
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Stage      int       `json:"stage"`
	Values     string    `json:"values"`
	Digest     string    `json:"digest"`
	Requires   string    `json:"requires,omitempty"`
	WantedWhen string    `json:"wantedWhen"`
}

func newTemplatesList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the templates: ids, kinds, the types of their values, digests",
		Args:  cobra.NoArgs,
	}
	output := bindFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		engine, err := upstream()
		if err != nil {
			return err
		}
		digests := engine.Digests()
		var list []templateRow
		var rows [][]string
		for _, c := range desired.Table() {
			row := templateRow{
				ID: c.ID, APIVersion: c.GVK.GroupVersion().String(), Kind: c.GVK.Kind, Stage: c.Stage,
				Values: fmt.Sprintf("%T", c.Values), Digest: "sha256:" + digests[c.ID], Requires: c.Requires, WantedWhen: c.WantedWhen,
			}
			list = append(list, row)
		}
		slices.SortFunc(list, func(a, b templateRow) int { return compareIDs(a.ID, b.ID) })
		for _, row := range list {
			rows = append(rows, []string{string(row.ID), row.Kind, row.Values, short(row.Digest)})
		}
		return show(cmd.OutOrStdout(), *output, list, []string{"ID", "KIND", "VALUES", "DIGEST"}, rows)
	}
	return cmd
}

func newTemplatesShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Print a template of this release",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			engine, err := upstream()
			if err != nil {
				return err
			}
			text, err := sourceOf(engine, render.ID(args[0]))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}

const exportHelp = `Write templates into an overlay, each with the head that pins it to this release, and
beside them, below .base, the unchanged templates: "overlay rebase" needs those to merge
what a later release changed. A file that is there already is left alone.`

func newTemplatesExport() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:               "export ID...",
		Short:             "Write templates into an overlay, to be changed there",
		Long:              exportHelp,
		Example:           "  maasctl templates export tenant/deployment-maas-api --overlay ./overlay",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			engine, err := upstream()
			if err != nil {
				return err
			}
			digests := engine.Digests()
			var errs []error
			for _, arg := range args {
				id := render.ID(arg)
				text, err := sourceOf(engine, id)
				if err == nil {
					err = exportOne(dir, id, overlay.Header(id, digests[id]), text)
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, "templates", id.File())) // a lost line of progress
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().StringVar(&dir, "overlay", "overlay", "directory of the overlay")
	_ = cmd.MarkFlagDirname("overlay") // fails for unknown flags only
	return cmd
}

// exportOne writes one template and its base.
func exportOne(dir string, id render.ID, header, text string) error {
	target, base := filepath.Join(dir, "templates", id.File()), baseFile(dir, id)
	if _, err := os.Stat(target); err == nil {
		return fmt.Errorf("%s is there already; remove it to export the template again, or use overlay rebase", target)
	}
	return errors.Join(write(target, header+text), write(base, text))
}

// baseFile is where the unchanged template behind a replacement is kept.
func baseFile(dir string, id render.ID) string { return filepath.Join(dir, ".base", id.File()) }

func write(path, text string) error {
	const dirMode, fileMode = 0o755, 0o644 // for everybody: these are sources
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), fileMode)
}

// sourceOf is the text of a template; an unknown one is the user's mistake.
func sourceOf(engine *render.Engine, id render.ID) (string, error) {
	text, err := engine.Source(id)
	if err != nil {
		return "", invalid(fmt.Errorf("there is no template %s; templates list shows those there are", id))
	}
	return text, nil
}

// completeIDs completes the ids of templates.
func completeIDs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, entry := range desired.Components() {
		ids = append(ids, string(entry.ID))
	}
	slices.Sort(ids)
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func compareIDs(a, b render.ID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// short is the beginning of a digest.
func short(digest string) string {
	const shown = len("sha256:") + 12
	return digest[:min(shown, len(digest))]
}
