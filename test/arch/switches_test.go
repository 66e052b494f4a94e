// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch_test

import (
	"os/exec"
	"strings"
	"testing"
)

func TestSwitchesOfTheMakefile(t *testing.T) {
	t.Parallel()
	const (
		once, engines, race = " --once", " --engines", "hack/test.sh -race "
		refused             = " is neither on nor off: set "
	)
	for name, tc := range map[string]struct {
		target         string
		set            []string
		want, wantNone []string
	}{
		"nothing is set":    {"run", nil, nil, []string{once, engines}},
		"on":                {"run", []string{"ONCE=1", "ENGINES=1"}, []string{once, engines, "build.sh engines"}, nil},
		"empty is off":      {"run", []string{"ONCE=", "ENGINES="}, nil, []string{once, engines}},
		"0 is off":          {"run", []string{"ONCE=0", "ENGINES=0"}, nil, []string{once, engines, "build.sh engines"}},
		"no is off":         {"up", []string{"ENGINES=no"}, nil, []string{engines, "build.sh engines"}},
		"false is off":      {"up", []string{"ENGINES=false"}, nil, []string{engines}},
		"yes is refused":    {"up", []string{"ENGINES=yes"}, []string{"ENGINES=yes" + refused + "ENGINES=1, or leave it out (or 0, no, false)"}, []string{engines}},
		"true is refused":   {"run", []string{"ONCE=true"}, []string{"ONCE=true" + refused + "ONCE=1"}, []string{once}},
		"quiet tests":       {"test", []string{"V=0"}, nil, []string{"testreport -v"}},
		"all output":        {"test", []string{"V=1"}, []string{"testreport -v", race}, nil},
		"no race detector":  {"test", []string{"RACE="}, nil, []string{race}},
		"0 is none either":  {"test", []string{"RACE=0"}, nil, []string{race, "test.sh 0"}},
		"1 is the flag":     {"test", []string{"RACE=1"}, []string{race}, nil},
		"no other detector": {"test", []string{"RACE=yes"}, []string{"RACE=yes" + refused + "RACE="}, []string{"test.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Without what a make that runs these tests passes on.
			args := []string{"-u", "MAKEFLAGS", "-u", "MFLAGS", "-u", "ONCE", "-u", "ENGINES", "-u", "V", "-u", "RACE", "make", "--dry-run", tc.target}
			cmd := exec.CommandContext(t.Context(), "env", append(args, tc.set...)...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if isRefusal := strings.Contains(strings.Join(tc.want, ""), refused); isRefusal == (err == nil) {
				t.Fatalf("make: %v\n%s", err, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
			for _, none := range tc.wantNone {
				if strings.Contains(string(out), none) {
					t.Errorf("%q is in:\n%s", none, out)
				}
			}
		})
	}
}
