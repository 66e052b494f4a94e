// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
)

// delayBuckets reach from a policy engine that is quick to somebody who has to
// look for a missing model.
func delayBuckets() []float64 {
	return []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900, 3600}
}

// Standing is how far the status of an object has come.
type Standing struct {
	Phase v1alpha1.Phase
	// ObservedGeneration is the generation the phase was found for.
	ObservedGeneration int64
}

// Report is what a controller has just written into the status of a
// MaaSAuthPolicy or MaaSSubscription.
type Report struct {
	// Kind is the kind of the object, Object its metadata.
	Kind   string
	Object metav1.Object
	// Before is how it stood until now, After how it stands.
	Before, After Standing
	// References are the verdicts on the models it names.
	References []attachment.Reference
}

// subject is the name of an object with a status.
type subject struct {
	kind string
	key  types.NamespacedName
}

// record is what is known of such an object.
type record struct {
	uid        types.UID
	generation int64
	// since is when the generation came to be. It is zero once the generation
	// was measured, and when nobody can tell.
	since   time.Time
	refused map[v1alpha1.ConditionReason]int
}

// Reported takes note of a status that was just written.
func (m *Metrics) Reported(r Report) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := subject{r.Kind, types.NamespacedName{Namespace: r.Object.GetNamespace(), Name: r.Object.GetName()}}
	known := m.subjects[name]
	if known == nil || known.uid != r.Object.GetUID() || known.generation != r.Object.GetGeneration() {
		known = &record{uid: r.Object.GetUID(), generation: r.Object.GetGeneration(), since: m.since(r, known)}
		m.subjects[name] = known
	}
	known.refused = refusals(r.References)
	if r.After.Phase == v1alpha1.PhaseActive && !known.since.IsZero() {
		m.delays.WithLabelValues(r.Kind).Observe(max(0, m.clock.Since(known.since).Seconds()))
		known.since = time.Time{}
	}
}

// since tells when a generation that is new here came to be: the first one with
// the object, any other when it is first seen. One that was judged before, by a
// process that ended, is either enforced already or of an unknown age.
func (m *Metrics) since(r Report, known *record) time.Time {
	generation := r.Object.GetGeneration()
	judged := r.Before.ObservedGeneration == generation
	switch {
	case judged && r.Before.Phase == v1alpha1.PhaseActive:
		return time.Time{}
	case generation == 1:
		return r.Object.GetCreationTimestamp().Time
	case judged && known == nil:
		return time.Time{}
	default:
		return m.clock.Now()
	}
}

// refusals counts the references that have no effect, by reason.
func refusals(references []attachment.Reference) map[v1alpha1.ConditionReason]int {
	var out map[v1alpha1.ConditionReason]int
	for _, r := range references {
		if r.State != attachment.Lost {
			continue
		}
		if out == nil {
			out = map[v1alpha1.ConditionReason]int{}
		}
		out[r.Reason]++
	}
	return out
}

// Gone is called when an object is deleted, or about to be.
func (m *Metrics) Gone(kind string, key types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.subjects, subject{kind, key})
}

// refusalSamples are the gauges of refused entries; the mutex is held. A reason
// that no longer occurs has no sample.
func (m *Metrics) refusalSamples() []sample {
	type series struct {
		kind   string
		reason v1alpha1.ConditionReason
	}
	sums := map[series]int{}
	for name, known := range m.subjects {
		for reason, count := range known.refused {
			sums[series{name.kind, reason}] += count
		}
	}
	out := make([]sample, 0, len(sums))
	for s, count := range sums {
		out = append(out, sample{refusedEntries, []string{s.kind, string(s.reason)}, float64(count)})
	}
	return out
}
