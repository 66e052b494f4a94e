// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

// hostRow is a host, and a part of why it is refused over TLS; empty when it is accepted.
type hostRow struct{ host, refused string }

// hostRows is the one table of hosts: every kind of host has a row, and the fuzz test begins
// with them.
func hostRows() []hostRow {
	const address, local, none, single, namespace = "IP address", "leads into the cluster", "no host name", "single label", "name of a namespace"
	return []hostRow{
		{"api.openai.com", ""},
		{"API.OpenAI.com", ""},
		{"api.openai.com.", ""},
		{"bedrock-runtime.us-east-1.amazonaws.com", ""},
		{"xn--bcher-kva.example", ""},
		{"10.example.com", ""},
		{"0x7f.example.com", ""},
		{"local.example.com", ""},
		{"svc.example.com", ""},
		{"mylocal.example", ""},
		{"notcluster.localdomain.example", ""},

		{"127.0.0.1", address},
		{"127.0.0.1.", address},
		{"127.1", address},
		{"2130706433", address},
		{"0x7f000001", address},
		{"0X7F000001", address},
		{"0x7f.1", address},
		{"0177.0.0.1", address},
		{"017700000001", address},
		{"169.254.169.254", address},
		{"1.2.3.0x4", address},
		{"api.example.123", address},
		{"0x", address},
		{"::1", address},
		{"[::1]", address},
		{"::ffff:127.0.0.1", address},
		{"fe80::1%eth0", address},

		{"", none},
		{".", none},
		{"a..b", none},
		{"-a.example.com", none},
		{"a_b.example.com", none},
		{"a b.example.com", none},
		{"api.example.com:443", none},
		{"https://api.example.com", none},
		{"*.example.com", none},
		{strings.Repeat("a", 64) + ".example.com", none},
		{strings.Repeat("a.", 127) + "toolong", none},

		{"host", single},
		{"LOCALHOST", single},
		{"localhost.", single},
		{"a.localhost", local},
		{"A.LocalHost.", local},
		{"printer.local", local},
		{"minio.storage.svc", local},
		{"minio.storage.svc.cluster.local", local},
		{"cluster.local", local},
		{"metadata.google.internal", local},
		{"host.docker.internal.", local},
		{"minio.storage.svc.k8s.example", local},
		{"k8s.example", local},
		{"K8S.Example.", local},

		{"minio.storage", namespace},
		{"Minio.Storage.", namespace},
		{"etcd-0.etcd.kube-system", namespace},
		{"minio.elsewhere", ""},
		{"api.openai.com", ""},
		{"example.com", namespace},
		{"www.example.storage", ""},
	}
}

// cluster is one of an own domain, with some namespaces, one of them called as a domain of
// others.
func cluster() external.Hosts {
	namespaces := map[string]bool{"storage": true, "kube-system": true, "com": true}
	return external.Hosts{ClusterDomain: "k8s.example", IsNamespace: func(name string) bool { return namespaces[name] }}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, row := range hostRows() {
		got := cluster().Refuse(row.host, true)
		if (got == "") != (row.refused == "") || !strings.Contains(got, row.refused) {
			t.Errorf("Refuse(%q) = %q, want %q in it", row.host, got, row.refused)
		}
	}
}

// No certificate proves without TLS that three labels are not a Pod of a headless Service,
// and its namespace.
func TestHostsWithoutTLS(t *testing.T) {
	t.Parallel()
	const namespace = "name of a namespace"
	for host, refused := range map[string]string{
		"etcd-0.etcd.kube-system":      namespace,
		"postgres-0.postgres.storage":  namespace,
		"Postgres-0.Postgres.Storage.": namespace,
		"minio.storage":                namespace,
		"llm.example.com":              namespace,
		"a.b.c.storage":                "",
		"api.openai.org":               "",
		"127.0.0.1":                    "IP address",
	} {
		got := cluster().Refuse(host, false)
		if (got == "") != (refused == "") || !strings.Contains(got, refused) {
			t.Errorf("Refuse(%q) without TLS = %q, want %q in it", host, got, refused)
		}
	}
}

func TestHostsOfAClusterOfWhichNothingIsKnown(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{"minio.storage": false, "a.svc.cluster.local": true, "k8s.example": false} {
		if got := (external.Hosts{}).Refuse(host, false); (got != "") != refused {
			t.Errorf("Refuse(%q) = %q, want refused = %t", host, got, refused)
		}
	}
}

// Whatever is accepted is a name of at least two labels that no parser takes for an
// address, below none of the local domains, and it is accepted in every spelling.
func FuzzHosts(f *testing.F) {
	for _, row := range hostRows() {
		f.Add(row.host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		over, without := cluster().Refuse(host, true), cluster().Refuse(host, false)
		if over != "" && without == "" {
			t.Errorf("Refuse(%q) accepts without TLS what it refuses over TLS", host)
		}
		if over == "" {
			outside(t, host)
		}
	})
}

// outside checks a host that is accepted.
func outside(t *testing.T, host string) {
	t.Helper()
	name := external.Normal(host)
	for _, spelled := range []string{name, name + ".", strings.ToUpper(name)} {
		if refused := cluster().Refuse(spelled, true); refused != "" {
			t.Errorf("Refuse(%q) accepts it, and says of %q that it %s", host, spelled, refused)
		}
	}
	labels := strings.Split(name, ".")
	if _, err := netip.ParseAddr(name); err == nil || len(labels) < 2 || len(name) > 253 {
		t.Errorf("Refuse(%q) accepts what is no name of two labels", host)
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		t.Errorf("Refuse(%q) accepts a number at the end", host)
	}
	for _, domain := range []string{"localhost", "local", "svc", "internal", "k8s.example"} {
		if name == domain || strings.HasSuffix(name, "."+domain) {
			t.Errorf("Refuse(%q) accepts a name below %s", host, domain)
		}
	}
	if strings.ContainsAny(name, " :/[]%*\n\t\"\\@?#") {
		t.Errorf("Refuse(%q) accepts what is no host name", host)
	}
}
