// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// fixture is a Metrics behind a registry that believes nothing unchecked.
type fixture struct {
	*metrics.Metrics
	registry *prometheus.Registry
	clock    *testingclock.FakePassiveClock
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	f := fixture{metrics.New(clock), prometheus.NewPedanticRegistry(), clock}
	if err := f.registry.Register(f.Metrics); err != nil {
		t.Fatal(err)
	}
	return f
}

// want compares the samples of some families with lines of the text format;
// comments may be left out.
func (f fixture) want(t *testing.T, lines string, families ...string) {
	t.Helper()
	byName := map[string]metrics.Family{}
	for _, family := range metrics.Families() {
		byName[family.Name] = family
	}
	var text strings.Builder
	for _, name := range families {
		if !strings.Contains(lines, name) {
			continue // A family without samples has no comments either.
		}
		text.WriteString("# HELP " + name + " " + byName[name].Help + "\n# TYPE " + name + " " + string(byName[name].Type) + "\n")
		for line := range strings.Lines(lines) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, name+"{") {
				text.WriteString(line + "\n")
			}
		}
	}
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(text.String()), families...); err != nil {
		t.Error(err)
	}
}

// delays returns how many delays were observed for a kind, and their sum.
func (f fixture) delays(t *testing.T, kind string) (count uint64, seconds float64) {
	t.Helper()
	found, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range found {
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h != nil && m.GetLabel()[0].GetValue() == kind {
				return h.GetSampleCount(), h.GetSampleSum()
			}
		}
	}
	return 0, 0
}

func (f fixture) pass(d time.Duration) { f.clock.SetTime(f.clock.Now().Add(d)) }

// sized are the sizes of a model's policies whose limits have so many members.
func sized(authPolicy, limitPolicy int, members ...int) model.Sizes {
	sizes := model.Sizes{AuthPolicy: model.ObjectSize{Bytes: authPolicy}, TokenRateLimitPolicy: model.ObjectSize{Bytes: limitPolicy}, Subjects: 3}
	for _, n := range members {
		sizes.Limits = append(sizes.Limits, model.LimitSize{Members: n, CodePoints: 10 * n})
	}
	return sizes
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// subscription returns the report of a subscription that was pending at its
// first generation.
func (f fixture) subscription(name string) metrics.Report {
	return metrics.Report{
		Kind: v1alpha1.KindMaaSSubscription,
		Object: &metav1.ObjectMeta{
			Namespace: "tenant", Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.NewTime(f.clock.Now()),
		},
		After: metrics.Standing{Phase: v1alpha1.PhasePending, ObservedGeneration: 1},
	}
}

func lost(reasons ...v1alpha1.ConditionReason) []attachment.Reference {
	out := []attachment.Reference{{State: attachment.Enforced, Reason: v1alpha1.ReasonEnforced}, {State: attachment.Waiting, Reason: v1alpha1.ReasonNotFound}}
	for _, reason := range reasons {
		out = append(out, attachment.Reference{State: attachment.Lost, Reason: reason})
	}
	return out
}
