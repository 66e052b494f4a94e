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

// Way is how a gateway gets to a port of a host.
type Way struct {
	Host string
	Port Port
	// Gateway is the gateway's namespace.
	Gateway string
}

// Carried tells whether live ServiceEntries and DestinationRules lead a gateway all the
// way. Of several of a host one counts, and which is not known: all of them have to.
func (w Way) Carried(entries, rules []*unstructured.Unstructured) bool {
	if !w.by(entries, w.EntryCarries) {
		return false
	}
	return !w.Port.TLS || w.by(rules, w.RuleCarries)
}

// by tells whether there are objects of the host, and all of them carry it.
func (w Way) by(objects []*unstructured.Unstructured, carries func(*unstructured.Unstructured) bool) bool {
	found := false
	for _, live := range objects {
		if !w.standing(live) {
			continue
		}
		if found = carries(live); !found {
			return false
		}
	}
	return found
}

// EntryCarries tells whether a live ServiceEntry, nil for none, makes the port known.
func (w Way) EntryCarries(live *unstructured.Unstructured) bool {
	return w.standing(live) && w.exported(live) && slices.ContainsFunc(numbers(live, "spec", "ports"), func(port map[string]any) bool {
		return port["number"] == int64(w.Port.Number) && port["protocol"] == portOf(w.Port).Protocol
	})
}

// RuleCarries tells whether a live DestinationRule, nil for none, has the port spoken to
// over TLS, and takes no certificate of another host.
func (w Way) RuleCarries(live *unstructured.Unstructured) bool {
	return w.standing(live) && w.exported(live) && slices.ContainsFunc(numbers(live, "spec", "trafficPolicy", "portLevelSettings"), func(settings map[string]any) bool {
		number, _, err := unstructured.NestedInt64(settings, "port", "number")
		return err == nil && number == int64(w.Port.Number) && w.verified(settings)
	})
}

// verified holds for the settings of TLS that the operator writes.
func (w Way) verified(settings map[string]any) bool {
	tls, _, err := unstructured.NestedMap(settings, "tls")
	if err != nil {
		return false
	}
	insecure, _, err := unstructured.NestedBool(tls, "insecureSkipVerify")
	if err != nil || insecure {
		return false
	}
	names, _, err := unstructured.NestedStringSlice(tls, "subjectAltNames")
	return err == nil && tls["mode"] == "SIMPLE" && tls["sni"] == w.Host && slices.Equal(names, []string{w.Host})
}

func (w Way) standing(live *unstructured.Unstructured) bool {
	return live != nil && live.GetDeletionTimestamp() == nil && HostOf(live) == w.Host
}

// exported tells whether the gateway sees an object. Without a word everybody does.
func (w Way) exported(live *unstructured.Unstructured) bool {
	to, _, err := unstructured.NestedStringSlice(live.Object, "spec", "exportTo")
	return err == nil && (len(to) == 0 || slices.ContainsFunc(to, func(namespace string) bool {
		return namespace == "*" || namespace == w.Gateway || namespace == "." && live.GetNamespace() == w.Gateway
	}))
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
