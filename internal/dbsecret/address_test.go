// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dbsecret

import (
	"net/url"
	"strings"
	"testing"
)

// E-25.
func TestHostsWithoutADomainGetOne(t *testing.T) {
	t.Parallel()
	const domain = ".odh.svc.cluster.local"
	for name, test := range map[string]struct{ in, want string }{
		"with a port":                     {"postgres://u:p@db:5432/maas", "postgres://u:p@db" + domain + ":5432/maas"},
		"without a port":                  {"postgres://u:p@db/maas", "postgres://u:p@db" + domain + "/maas"},
		"without anything else":           {"postgres://db", "postgres://db" + domain},
		"without a path":                  {"postgres://db?sslmode=disable", "postgres://db" + domain + "?sslmode=disable"},
		"the query stays":                 {"postgres://db:1/maas?sslmode=require&host=x", "postgres://db" + domain + ":1/maas?sslmode=require&host=x"},
		"a password stays byte by byte":   {"postgres://u:%2f@:%40@db/maas", "postgres://u:%2f@:%40@db" + domain + "/maas"},
		"several hosts":                   {"postgres://u@a:1,b.c:2,d/maas", "postgres://u@a" + domain + ":1,b.c:2,d" + domain + "/maas"},
		"a Service with its namespace":    {"postgres://db.odh/maas", "postgres://db.odh/maas"},
		"a whole name of a Service":       {"postgres://db.odh.svc.cluster.local:5432/maas", "postgres://db.odh.svc.cluster.local:5432/maas"},
		"a host outside":                  {"postgres://db.example.com/maas", "postgres://db.example.com/maas"},
		"an IPv4 address":                 {"postgres://10.0.0.1:5432/maas", "postgres://10.0.0.1:5432/maas"},
		"an IPv6 address":                 {"postgres://[fd00::1]:5432/maas", "postgres://[fd00::1]:5432/maas"},
		"the Pod itself":                  {"postgres://localhost:5432/maas", "postgres://localhost:5432/maas"},
		"no host":                         {"postgres:///maas?host=db", "postgres:///maas?host=db"},
		"no host but a user":              {"postgres://u:p@/maas", "postgres://u:p@/maas"},
		"no URL":                          {"host=db user=maas", "host=db user=maas"},
		"a password with a raw slash":     {"postgres://u:p/w@db/maas", "postgres://u:p/w@db/maas"},
		"a password with a question mark": {"postgres://u:p?w@db/maas", "postgres://u:p?w@db/maas"},
		"no scheme":                       {"/maas?url=x://db", "/maas?url=x://db"},
		"a scheme that is none":           {"/://0", "/://0"},
		"an empty scheme":                 {"://db", "://db"},
		"nothing":                         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := qualify(test.in, "odh"); got != test.want {
				t.Errorf("qualify(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// FuzzQualify holds the parts of an address that are no host: they never change, and a
// second time changes nothing.
func FuzzQualify(f *testing.F) {
	for _, seed := range []string{
		"postgres://u:p@db:5432/maas?sslmode=require#x", "postgres://a:1,b:2/", "x://@", "://", "a://[::1]:1", "postgres://u:p@w@h/d", "postgres://u:/@h", "/://0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got := qualify(address, "odh")
		if again := qualify(got, "odh"); again != got {
			t.Errorf("qualify(%q) = %q, and again %q", address, got, again)
		}
		if strings.ReplaceAll(got, ".odh.svc.cluster.local", "") != strings.ReplaceAll(address, ".odh.svc.cluster.local", "") {
			t.Errorf("qualify(%q) = %q changes more than hosts", address, got)
		}
		before, err := url.Parse(address)
		if err != nil {
			return
		}
		after, err := url.Parse(got)
		if err != nil {
			t.Fatalf("qualify(%q) = %q, which is no URL any more: %v", address, got, err)
		}
		if before.User.String() != after.User.String() || before.Port() != after.Port() || before.RequestURI() != after.RequestURI() {
			t.Errorf("qualify(%q) = %q changes more than the host", address, got)
		}
	})
}
