// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

func live(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
}

// ruleOf is the spec of a DestinationRule for a host, with settings of TLS for a port.
func ruleOf(host string, tls map[string]any) map[string]any {
	settings := map[string]any{"port": map[string]any{"number": int64(443)}}
	if tls != nil {
		settings["tls"] = tls
	}
	return map[string]any{"host": host, "exportTo": []any{"gateways"}, "trafficPolicy": map[string]any{"portLevelSettings": []any{settings}}}
}

// verified are the settings of TLS as the operator writes them, changed.
func verified(host, field string, value any) map[string]any {
	tls := map[string]any{"mode": "SIMPLE", "sni": host, "subjectAltNames": []any{host}}
	if field != "" {
		tls[field] = value
	}
	return tls
}

func TestWhatLiveObjectsCarry(t *testing.T) {
	t.Parallel()
	const host = "api.example.com"
	entry := live(map[string]any{"hosts": []any{host}, "exportTo": []any{"gateways"}, "ports": []any{map[string]any{"name": "https-443", "number": int64(443), "protocol": "HTTPS"}}})
	rule := live(ruleOf(host, verified(host, "", nil)))
	gone := entry.DeepCopy()
	gone.SetDeletionTimestamp(new(metav1.Now()))
	odd := live(map[string]any{"hosts": "x", "host": int64(1), "ports": "y", "trafficPolicy": "z"})
	way := external.Way{Host: host, Port: external.Port{Number: 443, TLS: true}, Gateway: "gateways"}
	with := func(change func(*external.Way)) external.Way {
		changed := way
		change(&changed)
		return changed
	}
	plain := with(func(w *external.Way) { w.Port.TLS = false })
	next := with(func(w *external.Way) { w.Port.Number = 8443 })
	other := with(func(w *external.Way) { w.Host = "other.example.com" })
	unseen := with(func(w *external.Way) { w.Gateway = "elsewhere" })
	changed := func(field string, value any) *unstructured.Unstructured {
		return live(ruleOf(host, verified(host, field, value)))
	}
	for name, tc := range map[string]struct{ got, want bool }{
		"the port of the entry":        {way.EntryCarries(entry), true},
		"its port without TLS":         {plain.EntryCarries(entry), false},
		"another port":                 {next.EntryCarries(entry), false},
		"another host":                 {other.EntryCarries(entry), false},
		"another Gateway":              {unseen.EntryCarries(entry), false},
		"an entry on its way out":      {way.EntryCarries(gone), false},
		"no entry":                     {way.EntryCarries(nil), false},
		"an entry that makes no sense": {way.EntryCarries(odd), false},
		"the port of the rule":         {way.RuleCarries(rule), true},
		"another port of the rule":     {next.RuleCarries(rule), false},
		"a rule for another Gateway":   {unseen.RuleCarries(rule), false},
		"a rule for everybody":         {unseen.RuleCarries(live(map[string]any{"host": host, "trafficPolicy": rule.Object["spec"].(map[string]any)["trafficPolicy"]})), true},
		"no rule":                      {way.RuleCarries(nil), false},
		"a rule that makes no sense":   {way.RuleCarries(odd), false},
		"a rule that says nothing":     {way.RuleCarries(live(ruleOf(host, nil))), false},
		"a rule that switches TLS off": {way.RuleCarries(changed("mode", "DISABLE")), false},
		"a rule that verifies nothing": {way.RuleCarries(changed("insecureSkipVerify", true)), false},
		"a rule of another name":       {way.RuleCarries(changed("sni", "other.example.com")), false},
		"a rule with another name":     {way.RuleCarries(changed("subjectAltNames", []any{host, "other.example.com"})), false},
		"all of it":                    {way.Carried(list(entry), list(rule)), true},
		"no rule for TLS":              {way.Carried(list(entry), nil), false},
		"a rule of another host aside": {way.Carried(list(entry, odd), list(rule, live(ruleOf("other.example.com", nil)))), true},
		"a second rule that does not":  {way.Carried(list(entry), list(rule, changed("mode", "DISABLE"))), false},
		"a second entry on its way":    {way.Carried(list(gone, entry), list(rule)), true},
		"nothing":                      {way.Carried(nil, list(rule)), false},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: carried = %t, want %t", name, tc.got, tc.want)
		}
	}
	for want, object := range map[string]*unstructured.Unstructured{host: entry, "": odd} {
		if got := external.HostOf(object); got != want {
			t.Errorf("HostOf() = %q, want %q", got, want)
		}
	}
	if external.HostOf(rule) != host || !external.EndsIn("Minio.Storage.", "storage") || external.EndsIn("storage", "storage") {
		t.Error("the host of a rule, or the end of a host, is wrong")
	}
}

func list(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }
