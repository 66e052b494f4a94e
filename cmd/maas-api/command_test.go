// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// ran is what a command line led to.
type ran struct {
	program string
	in      invocation
	out     string
	err     error
}

// runLine runs a command line whose programs only note that they were called.
func runLine(t *testing.T, environment map[string]string, args ...string) ran {
	t.Helper()
	var got ran
	note := func(name string) program {
		return func(_ context.Context, in invocation) error {
			got.program, got.in = name, in
			return nil
		}
	}
	var out bytes.Buffer
	cmd := newCommand(commands{serve: note("serve"), migrate: note("migrate"), cleanup: note("cleanup"), revoke: note("revoke")}, environment, &out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{}, args...))
	got.err = cmd.ExecuteContext(t.Context())
	got.out = out.String()
	return got
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environment map[string]string
		args        string
		want        string // The program.
		wantErr     string
	}{
		"nothing":                          {args: "", want: "serve"},
		"flags only":                       {args: "--debug --namespace a", want: "serve"},
		"serve":                            {args: "serve --debug", want: "serve"},
		"migrate":                          {args: "migrate --database-url-file f", want: "migrate"},
		"cleanup":                          {args: "cleanup", want: "cleanup"},
		"cleanup of a service":             {args: "cleanup --url https://h:1 --ca-file f", want: "cleanup"},
		"revoke":                           {args: "revoke --tenant a", want: "revoke"},
		"authorities of no call":           {args: "cleanup --ca-file f", wantErr: "--ca-file has no meaning without --url"},
		"revoke of nobody":                 {args: "revoke", wantErr: "--tenant is missing"},
		"revoke does not take the default": {environment: map[string]string{"TENANT_NAME": "a"}, args: "revoke", wantErr: "--tenant is missing"},
		"a wrong setting":                  {args: "--metrics-port 0", wantErr: "--metrics-port (METRICS_PORT)"},
		"a wrong variable":                 {environment: map[string]string{"METRICS_PORT": "x"}, wantErr: "--metrics-port (METRICS_PORT)"},
		"a job ignores what serves":        {environment: map[string]string{"METRICS_PORT": "x", "SECURE": "true"}, args: "migrate", want: "migrate"},
		"an unknown flag":                  {args: "--nothing", wantErr: "unknown flag"},
		"an unknown command":               {args: "nothing", wantErr: "unknown command"},
		"a flag of another command":        {args: "migrate --address :1", wantErr: "unknown flag"},
		"a completion":                     {args: "completion bash"},
		"completions of unknown shells":    {args: "completion foo", wantErr: "unknown command \"foo\" for \"maas-api completion\""},
		"help with a command":              {args: "help completion bash"},
		"help with an unknown command":     {args: "help foo", wantErr: "unknown command \"foo\" for \"maas-api\""},
		"help with something behind":       {args: "help serve foo", wantErr: "unknown command \"foo\" for \"maas-api serve\""},
		"something behind serve":           {args: "serve nothing", wantErr: "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runLine(t, tc.environment, strings.Fields(tc.args)...)
			if got.program != tc.want || (got.err == nil) != (tc.wantErr == "") {
				t.Fatalf("ran %q, error %v", got.program, got.err)
			}
			if got.err != nil && !strings.Contains(got.err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %q", got.err, tc.wantErr)
			}
		})
	}
}

func TestFlagsAndEnvironmentReachTheProgram(t *testing.T) {
	t.Parallel()
	got := runLine(t, map[string]string{"TENANT_NAME": "red", "NAMESPACE": "env"}, "serve", "--namespace=flag", "--debug").in
	if got.Config.TenantName != "red" || got.Config.Namespace != "flag" || !got.Config.Debug {
		t.Errorf("configuration %+v", got.Config.General)
	}
	if diff := cmp.Diff([]string{"debug", "namespace"}, got.Given(config.SourceFlag)); diff != "" {
		t.Error(diff)
	}
	revoked := runLine(t, nil, "revoke", "--tenant", "blue").in
	cleaned := runLine(t, nil, "cleanup", "--url", "u", "--ca-file", "f").in
	if revoked.Tenant != "blue" || cleaned.URL != "u" || cleaned.CAFile != "f" {
		t.Errorf("invocations %+v, %+v", revoked, cleaned)
	}
}

func TestHelpShowsEverySettingInItsGroup(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}} {
		got := runLine(t, nil, args...)
		if got.err != nil || got.program != "" {
			t.Fatalf("ran %q, error %v", got.program, got.err)
		}
		group := config.Group("")
		for _, s := range config.Settings() {
			if s.Group != group {
				group = s.Group
				if !strings.Contains(got.out, "\n"+string(group)+":\n") {
					t.Errorf("%v: group %s is missing", args, group)
				}
			}
			if !strings.Contains(got.out, "--"+s.Flag+" ") && !strings.Contains(got.out, "--"+s.Flag+"[") {
				t.Errorf("%v: --%s is missing", args, s.Flag)
			}
			if !strings.Contains(got.out, "[$"+s.Env+"]") {
				t.Errorf("%v: %s is missing", args, s.Env)
			}
		}
	}
}

func TestHelpOfAJobShowsItsOwnSettingsOnly(t *testing.T) {
	t.Parallel()
	got := runLine(t, nil, "revoke", "--help").out
	if !strings.Contains(got, "--tenant string") || !strings.Contains(got, "--database-url-file") || strings.Contains(got, "--gateway-address") {
		t.Errorf("help: %s", got)
	}
}

func TestHelpOfACommandWithoutSettingsShowsNone(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version --help", "completion bash --help", "help version"} {
		got := runLine(t, nil, strings.Fields(args)...).out
		if !strings.Contains(got, "\nFlags:\n") || strings.Contains(got, "--tenant-name") {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"version": "maas-api version ", "--version": "maas-api version ", "completion bash": "bash completion", "completion zsh": "#compdef",
	} {
		got := runLine(t, nil, strings.Fields(args)...)
		if got.err != nil || !strings.Contains(got.out, want) || got.program != "" {
			t.Errorf("%s: ran %q, error %v, says %.80q", args, got.program, got.err, got.out)
		}
	}
}

func TestRevokeRefusesTwoTenants(t *testing.T) {
	t.Parallel()
	in := runLine(t, map[string]string{"TENANT_NAME": "red"}, "revoke", "--tenant", "blue").in
	if err := revoke(t.Context(), in); err == nil || !strings.Contains(err.Error(), "TENANT_NAME") {
		t.Errorf("error %v", err)
	}
}

func TestCauseIsShownToAdministrators(t *testing.T) {
	t.Parallel()
	inner := errors.New("connection refused")
	if got := cause(errors.Join(inner)); got.Error() != "connection refused" {
		t.Errorf("got %v", got)
	}
	if got := cause(wrapped{inner}).Error(); got != "Failed: connection refused" {
		t.Errorf("got %v", got)
	}
}

// wrapped hides its cause from clients.
type wrapped struct{ inner error }

func (w wrapped) Error() string { return "Failed" }
func (w wrapped) Unwrap() error { return w.inner }
