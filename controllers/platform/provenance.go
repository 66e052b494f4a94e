// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

// Provenance is what the objects of this operator are rendered by. It does not change
// while the program runs.
type Provenance struct {
	// Release is the version of the operator.
	Release string
	// OverlayDigest is that of the template overlay; empty without one.
	OverlayDigest string
	// OverlayProblems are those of the overlay that are tolerated, a sentence each.
	OverlayProblems []string
}

// tellProvenance puts into the status what objects are rendered by.
func (r *Reconciler) tellProvenance(s *scope) {
	status := &s.config.Status
	if r.Provenance.Release != "" {
		status.RenderedBy = &v1alpha1.RenderedBy{Release: r.Provenance.Release, OverlayDigest: r.Provenance.OverlayDigest}
	}
	switch {
	case r.Provenance.OverlayDigest == "":
		conditions.Remove(&status.Conditions, v1alpha1.ConditionTemplateOverlayCurrent)
	case len(r.Provenance.OverlayProblems) > 0:
		s.set(v1alpha1.ConditionTemplateOverlayCurrent, conditions.False(v1alpha1.ReasonOverlayStale, r.Provenance.overlayMessage()))
	default:
		s.set(v1alpha1.ConditionTemplateOverlayCurrent, conditions.True(v1alpha1.ReasonOverlayCurrent, "The template overlay fits the templates of this release."))
	}
}

// overlayMessage names the first problems; the log of the operator and maasctl have all.
func (p Provenance) overlayMessage() string {
	const shown = 3
	list := p.OverlayProblems[:min(shown, len(p.OverlayProblems))]
	more := ""
	if hidden := len(p.OverlayProblems) - len(list); hidden > 0 {
		more = fmt.Sprintf(" And %d more.", hidden)
	}
	return fmt.Sprintf("The template overlay does not fit this release: %s.%s Run maasctl overlay verify, and overlay rebase for templates that are stale.", strings.Join(list, "; "), more)
}
