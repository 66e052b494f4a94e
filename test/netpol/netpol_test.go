// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netpol_test

import (
	"net/netip"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/netpol"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	web := netpol.End{Namespace: "a", Labels: map[string]string{"app": "web"}}
	db := netpol.End{Namespace: "b", Labels: map[string]string{"app": "db"}}
	outside := netpol.End{Address: netip.MustParseAddr("10.1.2.3")}
	const toDB = `{metadata: {namespace: b}, spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [%PEER%], ports: [{port: 5432}]}]}}`
	for name, tc := range map[string]struct {
		policies []string
		from, to netpol.End
		port     netpol.Port
		want     bool
	}{
		"without policies everything is open": {from: web, to: db, port: netpol.TCP(1), want: true},
		"a policy of another namespace does not count": {
			policies: []string{`{metadata: {namespace: a}, spec: {podSelector: {matchLabels: {app: db}}}}`},
			from:     web, to: db, port: netpol.TCP(1), want: true,
		},
		"a policy without rules closes": {policies: []string{`{metadata: {namespace: b}, spec: {podSelector: {}}}`}, from: web, to: db, port: netpol.TCP(1)},
		"a policy closes one direction only": {
			policies: []string{`{metadata: {namespace: b}, spec: {podSelector: {}}}`},
			from:     db, to: web, port: netpol.TCP(1), want: true,
		},
		"types make egress closed": {
			policies: []string{`{metadata: {namespace: b}, spec: {podSelector: {}, policyTypes: [Egress]}}`},
			from:     db, to: outside, port: netpol.TCP(1),
		},
		"an empty rule opens": {
			policies: []string{`{metadata: {namespace: b}, spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}}`},
			from:     db, to: outside, port: netpol.UDP(1), want: true,
		},
		"policies add up": {
			policies: []string{`{metadata: {namespace: b}, spec: {podSelector: {}}}`, `{metadata: {namespace: b}, spec: {podSelector: {}, ingress: [{}]}}`},
			from:     web, to: db, port: netpol.TCP(1), want: true,
		},
		"namespace and pod in one peer must both match": {
			policies: []string{peer(toDB, `{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}, podSelector: {matchLabels: {app: other}}}`)},
			from:     web, to: db, port: netpol.TCP(5432),
		},
		"both match": {
			policies: []string{peer(toDB, `{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}, podSelector: {matchLabels: {app: web}}}`)},
			from:     web, to: db, port: netpol.TCP(5432), want: true,
		},
		"another port": {
			policies: []string{peer(toDB, `{namespaceSelector: {}}`)},
			from:     web, to: db, port: netpol.TCP(5433),
		},
		"another protocol": {
			policies: []string{peer(toDB, `{namespaceSelector: {}}`)},
			from:     web, to: db, port: netpol.UDP(5432),
		},
		"a pod selector alone means the own namespace": {policies: []string{peer(toDB, `{podSelector: {}}`)}, from: web, to: db, port: netpol.TCP(5432)},
		"a selector never matches what is outside":     {policies: []string{peer(toDB, `{namespaceSelector: {}}`)}, from: outside, to: db, port: netpol.TCP(5432)},
		"an address range": {
			policies: []string{peer(toDB, `{ipBlock: {cidr: 10.0.0.0/8, except: [10.2.0.0/16]}}`)},
			from:     outside, to: db, port: netpol.TCP(5432), want: true,
		},
		"an exception of an address range": {
			policies: []string{peer(toDB, `{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}`)},
			from:     outside, to: db, port: netpol.TCP(5432),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cluster netpol.Cluster
			for _, text := range tc.policies {
				var policy networkingv1.NetworkPolicy
				if err := yaml.UnmarshalStrict([]byte(text), &policy); err != nil {
					t.Fatal(err)
				}
				cluster.Policies = append(cluster.Policies, policy)
			}
			got, err := cluster.Allowed(tc.from, tc.to, tc.port)
			if err != nil {
				t.Fatalf("Allowed() error = %v", err)
			}
			if got != tc.want {
				t.Errorf("Allowed() = %v, want %v", got, tc.want)
			}
		})
	}
}

// peer returns a policy with the peer put into it.
func peer(policy, text string) string { return strings.ReplaceAll(policy, "%PEER%", text) }

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{
		"a port with a name":     `{podSelector: {}, ingress: [{ports: [{port: https}]}]}`,
		"a peer without content": `{podSelector: {}, ingress: [{from: [{}]}]}`,
		"a broken address range": `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: x}}]}]}`,
		"a broken selector":      `{podSelector: {matchExpressions: [{key: a, operator: Is}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := networkingv1.NetworkPolicy{}
			policy.Namespace = "b"
			if err := yaml.UnmarshalStrict([]byte(spec), &policy.Spec); err != nil {
				t.Fatal(err)
			}
			end := netpol.End{Namespace: "b", Address: netip.MustParseAddr("10.0.0.1")}
			if got, err := (netpol.Cluster{Policies: []networkingv1.NetworkPolicy{policy}}).Allowed(end, end, netpol.TCP(1)); err == nil {
				t.Errorf("Allowed() = %v, want an error", got)
			}
		})
	}
}
