// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

func newOverlay() *cobra.Command {
	return group("overlay", "Check an overlay, and carry it over to this release", newOverlayVerify(), newOverlayRebase())
}

const verifyHelp = `Check an overlay as the operator does when it starts: every file is read and understood,
replaced templates are pinned to those of this release, everything parses, is linted,
type-checked, and rendered from samples of both platforms; what operator knows its objects
by stays, and nothing is without effect.

Exit codes: 0 the operator starts with it, 2 it does not, 3 a replacement is stale.`

func newOverlayVerify() *cobra.Command {
	policy := string(overlay.PolicyStrict)
	cmd := &cobra.Command{
		Use:     "verify DIR",
		Short:   "Check an overlay as the operator does when it starts",
		Long:    verifyHelp,
		Example: "  maasctl overlay verify ./overlay",
		Args:    cobra.ExactArgs(1),
	}
	output := bindFormat(cmd)
	cmd.Flags().StringVar(&policy, "policy", policy, "strict, or warn to let pass what is stale or without effect")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if policy != string(overlay.PolicyStrict) && policy != string(overlay.PolicyWarn) {
			return fmt.Errorf("--policy is %q; set it to strict or warn", policy)
		}
		result, o, err := verify(args[0])
		if err != nil {
			return err
		}
		if *output != formatTable || len(result.Problems) > 0 {
			if err := showProblems(cmd, *output, result); err != nil {
				return err
			}
		}
		if overlay.Policy(policy) == overlay.PolicyWarn {
			if err := result.Err(overlay.PolicyWarn); err != nil {
				return invalid(err)
			}
		} else if err := fatal(result); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "The overlay is in order: %d images, %d patches, %d replaced templates (digest %s).\n", // a lost remark
			len(o.Images), len(o.Patches), len(o.Replacements), short("sha256:"+o.Digest))
		return nil
	}
	return cmd
}

// problemRow is a problem as it is shown.
type problemRow struct {
	File    string        `json:"file"`
	Fault   overlay.Fault `json:"fault"`
	Message string        `json:"message"`
}

func showProblems(cmd *cobra.Command, f format, result overlay.Result) error {
	list := []problemRow{}
	rows := make([][]string, 0, len(result.Problems))
	for _, p := range result.Problems {
		list = append(list, problemRow{File: p.File, Fault: p.Fault, Message: p.Message})
		rows = append(rows, []string{p.File, string(p.Fault), p.Message})
	}
	return show(cmd.OutOrStdout(), f, list, []string{"FILE", "FAULT", "WHAT"}, rows)
}

const rebaseHelp = `Carry stale replacements over to this release: what changed between the template they were
made from and the one of this release is merged into them, and their heads are renewed.
Where both sides changed the same lines nothing is written; the change of this release is
shown instead, to be made by hand. The templates they were made from are read from .base
in the overlay, where "templates export" has put them.

Exit codes: 0 all are current now, 2 one cannot be merged.`

func newOverlayRebase() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "rebase DIR",
		Short:   "Merge what this release changed into the replaced templates of an overlay",
		Long:    rebaseHelp,
		Example: "  maasctl overlay rebase ./overlay",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := readOverlay(args[0])
			if err != nil {
				return err
			}
			engine, err := upstream()
			if err != nil {
				return err
			}
			r := rebase{cmd: cmd, dir: args[0], engine: engine, digests: engine.Digests(), dryRun: dryRun}
			var errs []error
			for _, replacement := range o.Replacements {
				errs = append(errs, r.one(replacement))
			}
			if err := errors.Join(errs...); err != nil {
				return invalid(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

type rebase struct {
	cmd     *cobra.Command
	dir     string
	engine  *render.Engine
	digests map[render.ID]string
	dryRun  bool
}

// one carries one replacement over.
func (r rebase) one(replacement overlay.Replacement) error {
	id := replacement.ID
	target := filepath.Join(r.dir, "templates", id.File())
	now, err := r.engine.Source(id)
	if err != nil {
		return fmt.Errorf("%s: this release has no template %s any more; remove the file, or declare a further object", target, id)
	}
	if r.digests[id] == replacement.Base {
		r.say("%s is current", target)
		return nil
	}
	base, err := os.ReadFile(baseFile(r.dir, id))
	if err != nil {
		return fmt.Errorf("%s: the template it was made from is not there: %w; export the template from the former release into .base", target, err)
	}
	content, err := os.ReadFile(target) //nolint:gosec // The overlay was named by the caller.
	if err != nil {
		return err
	}
	merged, ok := mergeText(string(base), withoutHead(string(content)), now)
	if !ok {
		r.say("%s", udiff.Unified("former release", "this release", string(base), now))
		return fmt.Errorf("%s: this release changed the same lines; make the change shown above by hand, and put the head %q", target, strings.TrimSpace(overlay.Header(id, r.digests[id])))
	}
	r.say("%s", udiff.Unified(target, target, withoutHead(string(content)), merged))
	if r.dryRun {
		return nil
	}
	return errors.Join(write(target, overlay.Header(id, r.digests[id])+merged), write(baseFile(r.dir, id), now))
}

func (r rebase) say(text string, args ...any) {
	_, _ = fmt.Fprintf(r.cmd.OutOrStdout(), strings.TrimRight(text, "\n")+"\n", args...) // lost progress
}

// mergeText applies to a text what two others changed in it; false when they changed the
// same lines.
func mergeText(base, ours, theirs string) (string, bool) {
	edits, ok := udiff.Merge(udiff.Lines(base, ours), udiff.Lines(base, theirs))
	if !ok {
		return "", false
	}
	merged, err := udiff.Apply(base, edits)
	return merged, err == nil
}

// withoutHead cuts the two lines of the head of a replacement.
func withoutHead(text string) string {
	const lines = 3
	if parts := strings.SplitN(text, "\n", lines); len(parts) == lines {
		return parts[lines-1]
	}
	return text
}
