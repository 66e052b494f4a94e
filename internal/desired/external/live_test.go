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

func TestWhatLiveObjectsCarry(t *testing.T) {
	t.Parallel()
	const host = "api.example.com"
	entry := live(map[string]any{"hosts": []any{host}, "ports": []any{map[string]any{"name": "https-443", "number": int64(443), "protocol": "HTTPS"}}})
	rule := live(map[string]any{"host": host, "trafficPolicy": map[string]any{"portLevelSettings": []any{map[string]any{"port": map[string]any{"number": int64(443)}}}}})
	gone := entry.DeepCopy()
	gone.SetDeletionTimestamp(new(metav1.Now()))
	odd := live(map[string]any{"hosts": "x", "host": int64(1), "ports": "y"})
	secure, plain := external.Port{Number: 443, TLS: true}, external.Port{Number: 443}
	for name, tc := range map[string]struct{ got, want bool }{
		"the port of the entry":        {external.EntryCarries(entry, host, secure), true},
		"its port without TLS":         {external.EntryCarries(entry, host, plain), false},
		"another port":                 {external.EntryCarries(entry, host, external.Port{Number: 8443, TLS: true}), false},
		"another host":                 {external.EntryCarries(entry, "other.example.com", secure), false},
		"an entry on its way out":      {external.EntryCarries(gone, host, secure), false},
		"no entry":                     {external.EntryCarries(nil, host, secure), false},
		"an entry that makes no sense": {external.EntryCarries(odd, host, secure), false},
		"the port of the rule":         {external.RuleCarries(rule, host, secure), true},
		"another port of the rule":     {external.RuleCarries(rule, host, external.Port{Number: 8443, TLS: true}), false},
		"no rule":                      {external.RuleCarries(nil, host, secure), false},
		"a rule that makes no sense":   {external.RuleCarries(odd, host, secure), false},
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
