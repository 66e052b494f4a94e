// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args     []string
		want     string
		wantArgs []string
	}{
		"link name decides":            {[]string{"/x/kubectl", "get", "etcd"}, "kubectl", []string{"kubectl", "get", "etcd"}},
		"first argument decides":       {[]string{"bin/controlplane", "etcd", "--version"}, "etcd", []string{"etcd", "--version"}},
		"link name goes before":        {[]string{"etcd", "kubectl"}, "etcd", []string{"etcd", "kubectl"}},
		"unknown first argument":       {[]string{"controlplane", "foo"}, "", []string{"controlplane", "foo"}},
		"later arguments do not count": {[]string{"controlplane", "-v", "etcd"}, "", []string{"controlplane", "-v", "etcd"}},
		"no argument":                  {[]string{"controlplane"}, "", []string{"controlplane"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, args := choose(tc.args)
			switch {
			case tc.want == "" && got != nil:
				t.Errorf("choose(%q) = %s, want no match", tc.args, got.name)
			case tc.want != "" && (got == nil || got.name != tc.want):
				t.Errorf("choose(%q) = %v, want %s", tc.args, got, tc.want)
			}
			if !slices.Equal(args, tc.wantArgs) {
				t.Errorf("choose(%q) passes on %q, want %q", tc.args, args, tc.wantArgs)
			}
		})
	}
}
