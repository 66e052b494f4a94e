// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

func newTemplatesLint() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Parse, lint and type-check the templates, those of an overlay included",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := upstream()
			if err != nil {
				return invalid(err)
			}
			if dir != "" {
				result, _, err := verify(dir)
				if err != nil {
					return err
				}
				if err := fatal(result); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d templates are in order.\n", len(engine.Entries()))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "overlay", "", "directory of an overlay")
	_ = cmd.MarkFlagDirname("overlay") // fails for unknown flags only
	return cmd
}

func newTemplatesLock() *cobra.Command {
	var check string
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Print the lock of the templates of this release: their digests, by which overlays are pinned",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := upstream()
			if err != nil {
				return err
			}
			lock := overlay.LockOf(engine)
			if check == "" {
				_, err = cmd.OutOrStdout().Write(lock.Marshal())
				return err
			}
			content, err := os.ReadFile(check) //nolint:gosec // The caller names the file.
			if err != nil {
				return fmt.Errorf("read the lock: %w", err)
			}
			old, err := overlay.ReadLock(content)
			if err != nil {
				return invalid(fmt.Errorf("%s: %w", check, err))
			}
			return showChanges(cmd, old, lock)
		},
	}
	cmd.Flags().StringVar(&check, "check", "", "compare with a lock file instead, and end with 4 if it differs")
	return cmd
}

func newTemplatesDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff LOCK",
		Short: "List the templates that changed since the release a lock file is from",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lock := newTemplatesLock()
			lock.SetOut(cmd.OutOrStdout())
			if err := lock.Flags().Set("check", args[0]); err != nil {
				return err
			}
			return lock.RunE(lock, nil)
		},
	}
}

// showChanges lists what differs between two locks.
func showChanges(cmd *cobra.Command, old, now overlay.Lock) error {
	ids := map[render.ID]bool{}
	for id := range old.Templates {
		ids[id] = true
	}
	for id := range now.Templates {
		ids[id] = true
	}
	var rows [][]string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		was, is := old.Templates[id], now.Templates[id]
		switch {
		case was == is:
		case was == "":
			rows = append(rows, []string{"added", string(id)})
		case is == "":
			rows = append(rows, []string{"removed", string(id)})
		default:
			rows = append(rows, []string{"changed", string(id)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := table(cmd.OutOrStdout(), []string{"CHANGE", "TEMPLATE"}, rows); err != nil {
		return err
	}
	return errDifference
}

// fatal turns what is wrong with an overlay into an error with its exit code.
func fatal(result overlay.Result) error {
	if err := result.Err(overlay.PolicyWarn); err != nil {
		return invalid(err)
	}
	err := result.Err(overlay.PolicyStrict)
	if err == nil {
		return nil
	}
	stale := slices.ContainsFunc(result.Problems, func(p overlay.Problem) bool { return p.Fault == overlay.FaultStale })
	if stale {
		return &exitError{code: ExitStale, err: err}
	}
	return invalid(errors.New(err.Error()))
}
