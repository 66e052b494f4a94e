// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// busy has a sample of every family.
func busy(t *testing.T) fixture {
	t.Helper()
	f := newFixture(t)
	f.Wrap("modelref", "MaaSModelRef", reconcile.Func(nil))
	f.Record(apply.Event{GroupKind: schema.GroupKind{Group: "kuadrant.io", Kind: "AuthPolicy"}, Operation: apply.OperationApply, Outcome: apply.Created, Writes: 1})
	f.SetPolicies(key("llm", "a"), key("gateways", "g"), sized(100, 200, 1))
	f.SetConfiguration(key("tenants", "a"), key("gateways", "g"), 1000)
	report := f.subscription("gold")
	report.After.Phase, report.References = v1alpha1.PhaseActive, lost(v1alpha1.ReasonInvalidSpec)
	f.Reported(report)
	return f
}

func TestWhatIsCollectedIsWhatIsDocumented(t *testing.T) {
	t.Parallel()
	found, err := busy(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []metrics.Family
	for _, f := range found {
		family := metrics.Family{Name: f.GetName(), Type: metrics.Type(strings.ToLower(f.GetType().String())), Help: f.GetHelp()}
		for _, label := range f.GetMetric()[0].GetLabel() {
			family.Labels = append(family.Labels, label.GetName())
		}
		got = append(got, family)
	}
	want := slices.Clone(metrics.Families())
	for i := range want {
		want[i].Labels = slices.Sorted(slices.Values(want[i].Labels))
	}
	slices.SortFunc(want, func(a, b metrics.Family) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}

func TestNamesAndHelpFollowTheConventions(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(busy(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range metrics.Families() {
		if !strings.HasPrefix(f.Name, "maas_") || !strings.HasSuffix(f.Help, ".") || strings.Contains(f.Help, "\n") {
			t.Errorf("%s: %q", f.Name, f.Help)
		}
	}
}

func TestEveryLabelIsDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range metrics.Families() {
		for _, name := range f.Labels {
			described := slices.ContainsFunc(metrics.Labels(), func(l metrics.Label) bool {
				return l.Name == name && (l.Family == "" || l.Family == f.Name) && l.Meaning != ""
			})
			if !described {
				t.Errorf("label %s of %s is not described", name, f.Name)
			}
		}
	}
}

func TestNobodyNeedsMetrics(t *testing.T) {
	t.Parallel()
	var none *metrics.Metrics
	none.Record(apply.Event{})
	none.SetPolicies(key("a", "b"), key("c", "d"), sized(1, 1))
	none.ForgetPolicies(key("a", "b"))
	none.Reported(metrics.Report{})
	none.Gone("MaaSSubscription", key("a", "b"))
	called := false
	r := none.Wrap("c", "k", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		called = true
		return reconcile.Result{}, nil
	}))
	if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err != nil || !called {
		t.Errorf("called = %v, err = %v", called, err)
	}
}

func TestReconcilesAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	judged := func(outcome metrics.Outcome, err error) reconcile.Func {
		return func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			metrics.Judge(ctx, metrics.Waiting)
			metrics.Judge(ctx, outcome)
			return reconcile.Result{RequeueAfter: time.Second}, err
		}
	}
	for name, tc := range map[string]struct {
		reconcile reconcile.Func
		want      metrics.Outcome
	}{
		"not judged":           {func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }, metrics.Success},
		"judged":               {judged(metrics.Conflict, nil), metrics.Conflict},
		"an error":             {judged(metrics.Success, errors.New("refused")), metrics.Failure},
		"an error of the user": {judged(metrics.Success, apperr.User(v1alpha1.ReasonInvalidSpec, "Write it.")), metrics.UserError},
		"a terminal error":     {judged(metrics.Success, reconcile.TerminalError(errors.New("no"))), metrics.UserError},
		"a panic":              {func(context.Context, reconcile.Request) (reconcile.Result, error) { panic("boom") }, metrics.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			wrapped := f.Wrap("c", "k", tc.reconcile)
			func() {
				defer func() { _ = recover() }()
				_, _ = wrapped.Reconcile(t.Context(), reconcile.Request{})
			}()
			var want strings.Builder
			for _, outcome := range metrics.Outcomes() {
				count := " 0\n"
				if outcome == tc.want {
					count = " 1\n"
				}
				want.WriteString(`maas_reconcile_total{controller="c",kind="k",outcome="` + string(outcome) + `"}` + count)
			}
			f.want(t, want.String(), "maas_reconcile_total")
		})
	}
}

func TestJudgementsOfConcurrentReconcilesDoNotMix(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inside, release := make(chan struct{}), make(chan struct{})
	slow := f.Wrap("c", "slow", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		metrics.Judge(ctx, metrics.UserError)
		close(inside)
		<-release
		return reconcile.Result{}, nil
	}))
	quick := f.Wrap("c", "quick", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		metrics.Judge(ctx, metrics.Waiting)
		return reconcile.Result{}, nil
	}))
	done := make(chan error)
	go func() {
		_, err := slow.Reconcile(t.Context(), reconcile.Request{})
		done <- err
	}()
	<-inside
	_, err := quick.Reconcile(t.Context(), reconcile.Request{})
	close(release)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	for kind, outcome := range map[string]metrics.Outcome{"slow": metrics.UserError, "quick": metrics.Waiting} {
		if !f.has(t, "maas_reconcile_total", map[string]string{"kind": kind, "outcome": string(outcome)}, 1) {
			t.Errorf("no reconcile of %s came to %s", kind, outcome)
		}
	}
}

// has tells whether a counter with these labels, among others, has the value.
func (f fixture) has(t *testing.T, name string, labels map[string]string, value float64) bool {
	t.Helper()
	found, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range found {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			matching := 0
			for _, label := range m.GetLabel() {
				if labels[label.GetName()] == label.GetValue() {
					matching++
				}
			}
			if matching == len(labels) && m.GetCounter().GetValue() == value {
				return true
			}
		}
	}
	return false
}

func TestOutcomeOfAStatus(t *testing.T) {
	t.Parallel()
	of := metrics.OfCondition
	for name, tc := range map[string]struct{ got, want metrics.Outcome }{
		"Active":                 {metrics.OfPhase(v1alpha1.PhaseActive), metrics.Success},
		"Ready":                  {metrics.OfPhase(v1alpha1.ModelPhaseReady), metrics.Success},
		"Pending":                {metrics.OfPhase(v1alpha1.PhasePending), metrics.Waiting},
		"Unhealthy":              {metrics.OfPhase(v1alpha1.ModelPhaseUnhealthy), metrics.Waiting},
		"Degraded":               {metrics.OfPhase(v1alpha1.PhaseDegraded), metrics.UserError},
		"Failed":                 {metrics.OfPhase(v1alpha1.ModelPhaseFailed), metrics.UserError},
		"Invalid":                {metrics.OfPhase(v1alpha1.PhaseInvalid), metrics.UserError},
		"policies applied":       {of(metav1.ConditionTrue, v1alpha1.ReasonPoliciesApplied), metrics.Success},
		"nothing to apply":       {of(metav1.ConditionFalse, v1alpha1.ReasonNoPolicies), metrics.Success},
		"a route to come":        {of(metav1.ConditionFalse, v1alpha1.ReasonRouteNotFound), metrics.Waiting},
		"a dependency to come":   {of(metav1.ConditionFalse, v1alpha1.ReasonDependencyMissing), metrics.Waiting},
		"a fact nobody knows":    {of(metav1.ConditionUnknown, v1alpha1.ReasonGetFailed), metrics.Waiting},
		"a foreign object":       {of(metav1.ConditionFalse, v1alpha1.ReasonForeignObject), metrics.UserError},
		"a policy out of hand":   {of(metav1.ConditionFalse, v1alpha1.ReasonOptedOut), metrics.UserError},
		"a route of another one": {of(metav1.ConditionFalse, v1alpha1.ReasonRouteConflict), metrics.UserError},
	} {
		if tc.got != tc.want {
			t.Errorf("%s is %s, want %s", name, tc.got, tc.want)
		}
	}
}

func TestWritesAreCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	event := apply.Event{GroupKind: schema.GroupKind{Group: "kuadrant.io", Kind: "AuthPolicy"}, Operation: apply.OperationApply}
	event.Outcome, event.Writes = apply.Created, 1
	f.Record(event)
	event.Outcome, event.Writes, event.DryRuns = apply.Unchanged, 0, 1
	f.Record(event)
	event.Outcome, event.Writes, event.DryRuns, event.Repaired = apply.Updated, 2, 0, true
	f.Record(event)
	f.Record(apply.Event{GroupKind: schema.GroupKind{Kind: "TokenRateLimitPolicy"}, Operation: apply.OperationDelete, Outcome: apply.NotFound})
	f.want(t, `
		maas_apply_total{kind="AuthPolicy",operation="apply",outcome="created"} 1
		maas_apply_total{kind="AuthPolicy",operation="apply",outcome="unchanged"} 1
		maas_apply_total{kind="AuthPolicy",operation="apply",outcome="updated"} 1
		maas_apply_total{kind="TokenRateLimitPolicy",operation="delete",outcome="not_found"} 1
		maas_apply_requests_total{kind="AuthPolicy",request="dry_run"} 1
		maas_apply_requests_total{kind="AuthPolicy",request="write"} 3
		maas_apply_requests_total{kind="TokenRateLimitPolicy",request="dry_run"} 0
		maas_apply_requests_total{kind="TokenRateLimitPolicy",request="write"} 0
		maas_drift_repairs_total{kind="AuthPolicy"} 1
		maas_drift_repairs_total{kind="TokenRateLimitPolicy"} 0
	`, "maas_apply_total", "maas_apply_requests_total", "maas_drift_repairs_total")
}
