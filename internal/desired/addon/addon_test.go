// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
)

const (
	crd    = "telemetries.telemetry.istio.io"
	object = "Telemetry openshift-ingress/latency-per-subscription"
	other  = "TelemetryPolicy openshift-ingress/maas-telemetry"
)

func wanted(change func(*addon.State)) addon.State {
	s := addon.State{Name: "Telemetry", Wanted: true}
	change(&s)
	return s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	everything := func(s *addon.State) {
		s.Refused, s.Foreign, s.MissingAPIs, s.OptedOut = []string{object}, []string{object}, []string{crd}, []string{object}
		s.NotAccepted, s.NotAvailable = []string{object}, []string{object}
	}
	for name, tc := range map[string]struct {
		state addon.State
		want  v1alpha1.ConditionReason
		says  []string
	}{
		"not wanted": {state: addon.State{Name: "Telemetry", MissingAPIs: []string{crd}, Unrendered: "x", Unread: true}},
		"all there":  {state: wanted(func(*addon.State) {}), want: v1alpha1.ReasonReconciled},
		"an API is missing": {
			wanted(func(s *addon.State) { s.MissingAPIs = []string{crd} }), v1alpha1.ReasonAPIMissing,
			[]string{crd, "rendered when it appears"},
		},
		"two APIs are missing": {
			wanted(func(s *addon.State) { s.MissingAPIs = []string{crd, "a.b", crd} }), v1alpha1.ReasonAPIMissing, []string{"a.b, " + crd + "."},
		},
		"an object is another's":        {wanted(func(s *addon.State) { s.Foreign = []string{object} }), v1alpha1.ReasonForeignObject, []string{object, "app.kubernetes.io/managed-by=maas-controller"}},
		"an object was refused":         {wanted(func(s *addon.State) { s.Refused = []string{object} }), v1alpha1.ReasonApplyFailed, []string{object, "tried again"}},
		"an object is out of our hands": {wanted(func(s *addon.State) { s.OptedOut = []string{other, object} }), v1alpha1.ReasonOptedOut, []string{object + ", " + other, "opendatahub.io/managed=false"}},
		"an object is not accepted":     {wanted(func(s *addon.State) { s.NotAccepted = []string{other} }), v1alpha1.ReasonNotAccepted, []string{other}},
		"Pods are not ready":            {wanted(func(s *addon.State) { s.NotAvailable = []string{"Deployment a/b"} }), v1alpha1.ReasonNotAvailable, []string{"Deployment a/b"}},
		"it could not be rendered":      {wanted(func(s *addon.State) { everything(s); s.Unrendered = "field x" }), v1alpha1.ReasonRenderFailed, []string{"field x", "stays in place"}},
		"what hides others comes first": {wanted(everything), v1alpha1.ReasonApplyFailed, []string{object}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := addon.Decide(tc.state)
			want := addon.Verdict{Present: tc.want != "", Reason: tc.want, Message: got.Message}
			switch tc.want {
			case "":
			case v1alpha1.ReasonReconciled:
				want.Status, want.Message = metav1.ConditionTrue, ""
			default:
				want.Status = metav1.ConditionFalse
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Decide() (-want +got):\n%s", diff)
			}
			if got.Degrades() != (want.Status == metav1.ConditionFalse) {
				t.Errorf("Degrades() = %t for %v", got.Degrades(), got)
			}
			for _, part := range append(tc.says, "") {
				if !strings.Contains(got.Message, part) {
					t.Errorf("message %q does not say %q", got.Message, part)
				}
			}
		})
	}
}

// What could not be read proves nothing.
func TestAConditionIsKeptWhileNothingIsKnown(t *testing.T) {
	t.Parallel()
	got := addon.Decide(wanted(func(s *addon.State) { s.Unread, s.MissingAPIs = true, []string{crd} }))
	if !got.Keep || !got.Present || got.Degrades() {
		t.Errorf("Decide() = %v", got)
	}
}

// Equal states have equal messages, whatever the order in which things were found, and
// each message is sentences that name the add-on and fit into a condition.
func TestMessagesAreOfTheState(t *testing.T) {
	t.Parallel()
	lists := rapid.SliceOfN(rapid.SampledFrom([]string{"A x/1", "B x/2", "C x/3", "D x/4"}), 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) []string { return lists.Draw(rt, name) }
		state := wanted(func(s *addon.State) {
			s.Refused, s.Foreign, s.MissingAPIs = draw("refused"), draw("foreign"), draw("missing")
			s.OptedOut, s.NotAccepted, s.NotAvailable = draw("opted out"), draw("not accepted"), draw("not available")
		})
		shuffled := state
		for _, list := range []*[]string{&shuffled.Refused, &shuffled.Foreign, &shuffled.MissingAPIs, &shuffled.OptedOut, &shuffled.NotAccepted, &shuffled.NotAvailable} {
			*list = rapid.Permutation(*list).Draw(rt, "order")
		}
		got := addon.Decide(state)
		if diff := cmp.Diff(got, addon.Decide(shuffled)); diff != "" {
			rt.Fatalf("in another order (-before +after):\n%s", diff)
		}
		if m := got.Message; m != "" && (!strings.HasPrefix(m, "Telemetry ") || !strings.HasSuffix(m, ".") || len(m) > 1024) {
			rt.Errorf("message %q", m)
		}
	})
}
