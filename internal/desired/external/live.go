// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HostOf is the host that a live ServiceEntry or DestinationRule of a model is for; empty
// when it has none.
func HostOf(live *unstructured.Unstructured) string {
	if host, _, err := unstructured.NestedString(live.Object, "spec", "host"); err == nil && host != "" {
		return host
	}
	hosts, _, err := unstructured.NestedStringSlice(live.Object, "spec", "hosts")
	if err != nil || len(hosts) == 0 {
		return ""
	}
	return hosts[0]
}

// EntryCarries tells whether a live ServiceEntry, nil for none, makes a port of a host
// known.
func EntryCarries(live *unstructured.Unstructured, host string, port Port) bool {
	return standing(live, host) && slices.ContainsFunc(numbers(live, "spec", "ports"), func(ports map[string]any) bool {
		return ports["number"] == int64(port.Number) && ports["protocol"] == portOf(port).Protocol
	})
}

// RuleCarries tells whether a live DestinationRule, nil for none, has a port of a host
// spoken to over TLS.
func RuleCarries(live *unstructured.Unstructured, host string, port Port) bool {
	return standing(live, host) && slices.ContainsFunc(numbers(live, "spec", "trafficPolicy", "portLevelSettings"), func(settings map[string]any) bool {
		number, _, err := unstructured.NestedInt64(settings, "port", "number")
		return err == nil && number == int64(port.Number)
	})
}

func standing(live *unstructured.Unstructured, host string) bool {
	return live != nil && live.GetDeletionTimestamp() == nil && HostOf(live) == host
}

// numbers are the maps in a list of a live object.
func numbers(live *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, err := unstructured.NestedSlice(live.Object, path...)
	if err != nil {
		return nil
	}
	var out []map[string]any
	for _, item := range list {
		if member, ok := item.(map[string]any); ok {
			out = append(out, member)
		}
	}
	return out
}

// Secure tells whether a provider is spoken to over TLS, by what the models of its host
// and port ask for.
func Secure(p Provider, claims []Claim) bool {
	return p.TLS || slices.Contains(Ports(p.Host, claims), Port{Number: p.Port, TLS: true})
}

// EndsIn tells whether the last label of a host is a name.
func EndsIn(host, name string) bool { return strings.HasSuffix(Normal(host), "."+name) }
