// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheClusterDomainIsReadOffTheResolver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a Pod":                       {"search maas.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5\n", "cluster.local"},
		"one of another domain":       {"nameserver 10.0.0.10\nsearch maas.svc.k8s.example svc.k8s.example. k8s.example", "k8s.example"},
		"with several lines":          {"search svc.old.example\nsearch maas.svc.new.example svc.new.example\n", "new.example"},
		"a machine":                   {"search example.com\nnameserver 192.0.2.1\n", ""},
		"one that completes nothing":  {"nameserver 192.0.2.1\n", ""},
		"an earlier line in vain":     {"search svc.old.example\nsearch example.com\n", ""},
		"a comment before the domain": {"# search svc.other\n\nsearch svc.cluster.local\n", "cluster.local"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := clusterDomain(file); got != tc.want {
				t.Errorf("clusterDomain() = %q, want %q", got, tc.want)
			}
		})
	}
	if got := clusterDomain(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("clusterDomain() without a file = %q, want none", got)
	}
}
