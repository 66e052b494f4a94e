// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCurlFindsTheHostnameAtTheGatewayAndTrustsItsAuthority(t *testing.T) {
	t.Parallel()
	l := layout{dir: t.TempDir()}
	if err := l.writeCurl(`/a "quoted" \ place/ca.crt`, "maas.example.com", "127.0.0.1:8443"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(l.curlFile())
	if err != nil {
		t.Fatal(err)
	}
	want := `silent
show-error
noproxy = "*"
write-out = "\n"
cacert = "/a \"quoted\" \\ place/ca.crt"
connect-to = "maas.example.com:443:127.0.0.1:8443"
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestWhatLetsSomebodyInIsReadableByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	l := layout{dir: t.TempDir()}
	s := &stack{layout: l, state: newState()}
	for what, write := range map[string]func() error{
		"settings":   func() error { return l.writeEnv([]setting{{"MAAS_TOKEN", "t"}}) },
		"identities": s.writeIdentities,
		"key":        func() error { return l.writeKey("sk-oai-k") },
	} {
		if err := write(); err != nil {
			t.Fatalf("write %s: %v", what, err)
		}
	}
	for _, file := range []string{l.envFile(), l.identities(), l.keyFile(), l.stateFile()} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", file, got)
		}
	}
	if err := l.removeSecrets(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{l.envFile(), l.identities(), l.keyFile()} {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}
}
