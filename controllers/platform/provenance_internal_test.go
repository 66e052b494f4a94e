// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

func TestTheStatusTellsWhatObjectsAreRenderedBy(t *testing.T) {
	t.Parallel()
	const digest = "4712"
	for name, tc := range map[string]struct {
		provenance Provenance
		reason     v1alpha1.ConditionReason // empty: there is no condition
		says       []string
	}{
		"no overlay":    {provenance: Provenance{Release: "1.2.3"}},
		"one that fits": {provenance: Provenance{Release: "1.2.3", OverlayDigest: digest}, reason: v1alpha1.ReasonOverlayCurrent},
		"one that does not": {
			provenance: Provenance{Release: "1.2.3", OverlayDigest: digest, OverlayProblems: []string{"a: b", "c: d", "e: f", "g: h", "i: j"}},
			reason:     v1alpha1.ReasonOverlayStale, says: []string{"a: b; c: d; e: f. And 2 more.", "maasctl overlay verify"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := &Reconciler{Provenance: tc.provenance}, &scope{config: &v1alpha1.Config{}}
			r.tellProvenance(s)
			by := s.config.Status.RenderedBy
			if by == nil || by.Release != tc.provenance.Release || by.OverlayDigest != tc.provenance.OverlayDigest {
				t.Errorf("renderedBy = %+v, want %+v", by, tc.provenance)
			}
			found := meta.FindStatusCondition(s.config.Status.Conditions, string(v1alpha1.ConditionTemplateOverlayCurrent))
			if (found == nil) != (tc.reason == "") || found != nil && found.Reason != string(tc.reason) {
				t.Fatalf("condition = %+v, want reason %q", found, tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(found.Message, text) {
					t.Errorf("message %q lacks %q", found.Message, text)
				}
			}
			r.Provenance = Provenance{Release: tc.provenance.Release}
			r.tellProvenance(s)
			if len(s.config.Status.Conditions) > 0 {
				t.Error("the condition stays without an overlay")
			}
		})
	}
}
