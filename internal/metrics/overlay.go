// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// SetOverlay takes note of the template overlay in use, and how many of its problems are
// tolerated. Without an overlay the digest is empty.
func (m *Metrics) SetOverlay(digest string, problems int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.overlay, m.problems = digest, problems
}

// overlaySamples is the gauge of the overlay; the mutex is held.
func (m *Metrics) overlaySamples() []sample {
	if m.overlay == "" {
		return nil
	}
	return []sample{{overlayProblems, []string{m.overlay}, float64(m.problems)}}
}
