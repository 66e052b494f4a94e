// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/version"
)

// Exit codes, which scripts may rely on.
const (
	// ExitOK says that all is well.
	ExitOK = 0
	// ExitFailure says that the command was used wrongly or could not read or write.
	ExitFailure = 1
	// ExitInvalid says that what was given is wrong.
	ExitInvalid = 2
	// ExitStale says that an overlay was made for other templates.
	ExitStale = 3
	// ExitDifference says that there is a difference.
	ExitDifference = 4
)

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// invalid is an error about what was given.
func invalid(err error) error { return &exitError{code: ExitInvalid, err: err} }

// errDifference ends a command that found a difference and has shown it.
var errDifference = &exitError{code: ExitDifference, err: errors.New("there are differences")}

// Main runs the command line and returns the exit code. args are those of the
// process, its name first.
func Main(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot(programName(args))
	root.SetArgs(args[min(1, len(args)):])
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	code := ExitFailure
	if coded, ok := errors.AsType[*exitError](err); ok {
		code = coded.code
	}
	_, _ = fmt.Fprintln(errs, "Error:", err) // nobody is left to tell
	return code
}

// Command returns the command line, for its documentation.
func Command() *cobra.Command { return newRoot("maasctl") }

// programName is how help texts call the program: "kubectl maas" when kubectl runs it.
func programName(args []string) string {
	if len(args) > 0 && strings.HasPrefix(filepath.Base(args[0]), "kubectl-") {
		return "kubectl maas"
	}
	return "maasctl"
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

const rootHelp = `maasctl shows what Models as a Service does and would do: the templates of this release
and what an overlay makes of them, the objects that custom resources lead to, and who may
call which model.

Exit codes: 0 all is well, 1 wrong usage or nothing could be read, 2 invalid input,
3 an overlay is stale, 4 there are differences.`

func newRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:               "maasctl",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:             "See what Models as a Service does before it does it",
		Long:              rootHelp,
		Version:           version.Get().String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	root.AddCommand(newTemplates(), newOverlay())
	return root
}
