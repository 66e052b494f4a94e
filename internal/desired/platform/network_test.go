// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/test/netpol"
)

// neighbours are the ends of connections that are not ours.
func neighbours() map[string]netpol.End {
	pod := func(namespace string, labels ...string) netpol.End {
		end := netpol.End{Namespace: namespace, Labels: map[string]string{}}
		for pair := range slices.Chunk(labels, 2) {
			end.Labels[pair[0]] = pair[1]
		}
		return end
	}
	return map[string]netpol.End{
		"gateway":                 pod(gateway, "gateway.networking.k8s.io/gateway-name", "maas-default-gateway", "gateway.istio.io/managed", "istio.io-gateway-controller"),
		"gateway of OpenShift":    pod(gateway, "gateway.networking.k8s.io/gateway-name", "red", "gateway.istio.io/managed", "openshift.io-gateway-controller-v1"),
		"router":                  pod(gateway, "ingresscontroller.operator.openshift.io/deployment-ingresscontroller", "default"),
		"gateway elsewhere":       pod("apps", "gateway.networking.k8s.io/gateway-name", "mine"),
		"authorino":               pod("rh-connectivity-link", "authorino-resource", "authorino"),
		"authorino of Kuadrant":   pod("kuadrant-system", "authorino-resource", "authorino"),
		"authorino elsewhere":     pod("apps", "authorino-resource", "authorino"),
		"operator of Kuadrant":    pod("kuadrant-system", "app", "kuadrant"),
		"controller":              pod(ctrl, "control-plane", "maas-controller"),
		"dashboard":               pod(ctrl, "app.kubernetes.io/part-of", "dashboard"),
		"dashboard of OpenShift":  pod(ctrl, "app.kubernetes.io/part-of", "rhods-dashboard"),
		"notebook controller":     pod(ctrl, "app.kubernetes.io/part-of", "workbenches"),
		"monitoring":              pod(mon, "app.kubernetes.io/name", "prometheus"),
		"pod beside maas-api":     pod(infra, "app", "postgres"),
		"forged cleanup":          pod("apps", "app", "maas-api-cleanup", "app.kubernetes.io/component", "key-cleanup", "app.kubernetes.io/name", "maas-api", "app.kubernetes.io/part-of", "models-as-a-service"),
		"DNS of OpenShift":        pod("openshift-dns", "dns.operator.openshift.io/daemonset-dns", "default"),
		"DNS of Kubernetes":       pod("kube-system", "k8s-app", "kube-dns"),
		"database in the cluster": pod("data", "app", "postgres"),
		"database outside":        {Address: netip.MustParseAddr("203.0.113.7")},
		"API server":              {Address: netip.MustParseAddr("172.30.0.1")},
	}
}

// TestWhoReachesWhom is about all policies at once, on Pods with the labels that the
// templates of tenants give them.
func TestWhoReachesWhom(t *testing.T) {
	t.Parallel()
	api, metrics := netpol.TCP(8443), netpol.TCP(9090)
	rows := []struct {
		from, to string
		port     netpol.Port
		// on names the only platform where it is allowed, if not both.
		want bool
		on   string
	}{
		{from: "gateway", to: "default", port: api, want: true},
		{from: "gateway of OpenShift", to: "red", port: api, want: true},
		{from: "gateway", to: "default", port: metrics},
		{from: "router", to: "default", port: api},            // E-178
		{from: "gateway elsewhere", to: "default", port: api}, // of a namespace that is not ours
		{from: "authorino", to: "red", port: api, want: true},
		{from: "authorino of Kuadrant", to: "default", port: api, want: true},
		{from: "authorino", to: "default", port: metrics}, // SD-3
		{from: "authorino elsewhere", to: "default", port: api},
		{from: "operator of Kuadrant", to: "default", port: api},
		{from: "controller", to: "default", port: api, want: true},
		{from: "dashboard", to: "default", port: api, want: true},
		{from: "dashboard of OpenShift", to: "red", port: api, want: true},
		{from: "dashboard", to: "default", port: metrics},
		{from: "notebook controller", to: "default", port: api}, // W-11
		{from: "monitoring", to: "default", port: metrics, want: true, on: platform.OpenShift},
		{from: "monitoring", to: "default", port: api},
		{from: "pod beside maas-api", to: "default", port: api},
		{from: "red", to: "default", port: api},
		{from: "default cleanup", to: "default", port: api, want: true},
		{from: "red cleanup", to: "red", port: api, want: true},
		{from: "red cleanup", to: "red", port: metrics},
		{from: "forged cleanup", to: "default", port: api},
		{from: "red revocation", to: "default", port: api},

		// E-179: what is open to maas-api is not open to the cleanup Pods.
		{from: "red cleanup", to: "database in the cluster", port: netpol.TCP(5432)},
		{from: "red cleanup", to: "database outside", port: netpol.TCP(5432)},
		{from: "red cleanup", to: "API server", port: netpol.TCP(443)},
		{from: "red cleanup", to: "DNS of OpenShift", port: netpol.UDP(5353), want: true},
		{from: "red cleanup", to: "DNS of Kubernetes", port: netpol.UDP(53), want: true},
		{from: "controller", to: "red cleanup", port: api},

		{from: "default", to: "database in the cluster", port: netpol.TCP(5432), want: true},
		{from: "red", to: "database outside", port: netpol.TCP(6432), want: true},
		{from: "red revocation", to: "database outside", port: netpol.TCP(5432), want: true},
		{from: "red", to: "API server", port: netpol.TCP(443), want: true},
		{from: "pod beside maas-api", to: "database outside", port: netpol.TCP(5432), want: true}, // not ours to restrict
	}
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		ends := tenantPods(t, on)
		maps.Copy(ends, neighbours())
		c := cluster(t, input(on))
		for _, row := range rows {
			from, known := ends[row.from]
			to, alsoKnown := ends[row.to]
			if !known || !alsoKnown {
				t.Fatalf("row %s -> %s names no known end", row.from, row.to)
			}
			got, err := c.Allowed(from, to, row.port)
			if err != nil {
				t.Fatal(err)
			}
			if want := row.want && (row.on == "" || row.on == on); got != want {
				t.Errorf("%s: %s -> %s %s %d: allowed = %v, want %v", on, row.from, row.to, row.port.Protocol, row.port.Number, got, want)
			}
		}
	}
}

// TestReplacedEgressRules shows that an administrator's rules are all there is, and
// that they are about the Job that revokes keys too.
func TestReplacedEgressRules(t *testing.T) {
	t.Parallel()
	in := configured(t, platform.OpenShift, `{networkPolicyEgressRules: [{to: [{ipBlock: {cidr: 203.0.113.0/24}}], ports: [{port: 5432}]}]}`)
	c, ends := cluster(t, in), tenantPods(t, in.Platform)
	maps.Copy(ends, neighbours())
	for _, row := range []struct {
		from, to string
		port     netpol.Port
		want     bool
	}{
		{"default", "database outside", netpol.TCP(5432), true},
		{"red revocation", "database outside", netpol.TCP(5432), true},
		{"default", "database in the cluster", netpol.TCP(5432), false},
		{"red revocation", "database in the cluster", netpol.TCP(5432), false},
		{"default", "DNS of OpenShift", netpol.UDP(5353), false},
		{"default", "API server", netpol.TCP(443), false},
		{"red cleanup", "red", netpol.TCP(8443), true},
	} {
		got, err := c.Allowed(ends[row.from], ends[row.to], row.port)
		if err != nil {
			t.Fatal(err)
		}
		if got != row.want {
			t.Errorf("%s -> %s %d: allowed = %v, want %v", row.from, row.to, row.port.Number, got, row.want)
		}
	}
}

// E-146: end-to-end tests of earlier releases look at exactly this.
func TestAuthorinoIsOneRuleWithOnePeer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ given, want []string }{
		"by default":             {nil, []string{"kuadrant-system", "openshift-operators", "rh-connectivity-link"}},
		"in namespaces of yours": {[]string{"b", "a", "b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(platform.OpenShift)
			in.AuthorinoNamespaces = tc.given
			spec := policies(t, in)["maas-authorino-allow"].Spec
			if len(spec.Ingress) != 1 || len(spec.Ingress[0].From) != 1 || len(spec.Ingress[0].Ports) != 1 {
				t.Fatalf("ingress = %v, want one rule with one peer and one port", spec.Ingress)
			}
			peer := spec.Ingress[0].From[0]
			if peer.PodSelector == nil || peer.NamespaceSelector == nil || len(peer.NamespaceSelector.MatchExpressions) != 1 {
				t.Fatalf("peer = %v, want both selectors", peer)
			}
			if diff := cmp.Diff(tc.want, peer.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	openShiftDefaults = `
- to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: openshift-dns}}, podSelector: {matchLabels: {dns.operator.openshift.io/daemonset-dns: default}}}]
  ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}, {protocol: UDP, port: 5353}, {protocol: TCP, port: 5353}]
- ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
- {}
`
	kubernetesDefaults = `
- to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, podSelector: {matchLabels: {k8s-app: kube-dns}}}]
  ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
- ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
- {}
`
	ownRule = `
- to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: data}}, podSelector: {}}]
  ports: [{protocol: TCP, port: 5432}, {port: 6000, endPort: 6010}]
`
	anotherRule = `
- to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
`
)

func TestEgressRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ on, spec, want string }{
		"OpenShift":             {platform.OpenShift, `{}`, openShiftDefaults},
		"Kubernetes":            {platform.Kubernetes, `{}`, kubernetesDefaults},
		"managed":               {platform.OpenShift, `{maasApiEgressNetworkPolicy: Managed}`, openShiftDefaults},
		"replaced (E-167)":      {platform.OpenShift, rules("networkPolicyEgressRules", ownRule), ownRule},
		"added (E-168)":         {platform.OpenShift, rules("networkPolicyAdditionalEgressRules", ownRule), openShiftDefaults + ownRule},
		"replaced and added":    {platform.Kubernetes, rules("networkPolicyEgressRules", ownRule) + rules("networkPolicyAdditionalEgressRules", anotherRule), ownRule + anotherRule},
		"an empty list of more": {platform.Kubernetes, `{networkPolicyAdditionalEgressRules: []}`, kubernetesDefaults},
		"a rule for everything": {platform.Kubernetes, `{networkPolicyEgressRules: [{}]}`, `[{}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []networkingv1.NetworkPolicyEgressRule
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			got := policies(t, configured(t, tc.on, tc.spec))["maas-api-egress-restrict"].Spec
			if diff := cmp.Diff(want, got.Egress); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeEgress}, got.PolicyTypes); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
		})
	}
}

// rules is a field of a Config's spec, indented as a block.
func rules(field, list string) string { return fmt.Sprintf("%s:%s", field, list) }

func TestNoEgressPolicyWhenDisabled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec   string
		warned bool
	}{
		"Disabled (E-169)":                    {`{maasApiEgressNetworkPolicy: Disabled}`, false},
		"Disabled with rules (E-170)":         {`{maasApiEgressNetworkPolicy: Disabled, networkPolicyEgressRules: [{}]}`, true},
		"Disabled with further rules (E-170)": {`{maasApiEgressNetworkPolicy: Disabled, networkPolicyAdditionalEgressRules: [{}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := configured(t, platform.Kubernetes, tc.spec)
			all, some := slices.Sorted(maps.Keys(policies(t, input(platform.Kubernetes)))), slices.Sorted(maps.Keys(policies(t, in)))
			want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "maas-api-egress-restrict" })
			if diff := cmp.Diff(want, some); diff != "" || len(all) == len(want) {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
			if warnings := build(t, in).Warnings; (len(warnings) == 1) != tc.warned {
				t.Errorf("warnings = %q, want one: %v", warnings, tc.warned)
			}
		})
	}
}

func TestMonitoringIsAdmittedWhereItReads(t *testing.T) {
	t.Parallel()
	without := input(platform.OpenShift)
	without.MonitoringNamespace = ""
	for name, tc := range map[string]struct {
		in   platform.Input
		want bool
	}{
		"on OpenShift":           {input(platform.OpenShift), true},
		"on Kubernetes":          {input(platform.Kubernetes), false},
		"nowhere without a name": {without, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := policies(t, tc.in)["maas-api-allow-monitoring"]; got != tc.want {
				t.Errorf("policy exists = %v, want %v", got, tc.want)
			}
		})
	}
}
