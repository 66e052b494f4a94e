// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// History is what the objects alone do not tell.
type History struct {
	// Now is when the objects were read; the zero value means long after the last
	// change.
	Now time.Time
	// Frozen are the policies that were taken out of the operator's hands, by
	// [KeyOf], as they were then.
	Frozen map[string]*unstructured.Unstructured
	// BornLegacy are the subscriptions, by <namespace>/<name>, that came into
	// being with evidence of an earlier release.
	BornLegacy map[string]bool
	// MaybeLegacy are those that an existing policy may have been evidence for.
	MaybeLegacy map[string]bool
	// LegacyLimits are the limits, as <model>:<limit>, that may have had a legacy
	// member at some time.
	LegacyLimits map[string]bool
	// LimitsDrifted tells whether anybody else ever wrote a limit policy.
	LimitsDrifted bool
}

// KeyOf names a policy.
func KeyOf(policy *unstructured.Unstructured) string {
	return policy.GetKind() + " " + nameOf(policy)
}

// document is a description of a state, one line per fact.
type document map[string]string

func (d document) set(object, what, format string, args ...any) {
	d[object+": "+what] = fmt.Sprintf(format, args...)
}

// Compare describes how the cluster differs from what the operator should have
// made of it; empty when it does not.
func (f *Facts) Compare(history History) string {
	if history.Now.IsZero() {
		const long = 24 * time.Hour
		history.Now = time.Now().Add(long)
	}
	w := newWorld(f, history)
	want, got := document{}, document{}
	for _, m := range w.models {
		w.describeModel(m, want, got)
		w.describeLimits(m, want, got)
		w.describeAccess(m, want, got)
	}
	for i := range w.Subscriptions {
		w.describeSubscription(&w.Subscriptions[i], want, got)
	}
	for i := range w.AuthPolicies {
		w.describeAuthPolicy(&w.AuthPolicies[i], want, got)
	}
	w.describeRest(want, got)
	return difference(want, got)
}

// difference lists the facts of which two documents say something else.
func difference(want, got document) string {
	differ := map[string]bool{}
	for _, d := range []document{want, got} {
		for fact := range d {
			differ[fact] = true
		}
	}
	var b strings.Builder
	for _, fact := range slices.Sorted(maps.Keys(differ)) {
		wanted, isWanted := want[fact]
		actual, isActual := got[fact]
		if wanted == actual && isWanted == isActual {
			continue
		}
		fmt.Fprintf(&b, "%s\n", fact)
		if isWanted {
			fmt.Fprintf(&b, "    - %s\n", wanted)
		}
		if isActual {
			fmt.Fprintf(&b, "    + %s\n", actual)
		}
	}
	return b.String()
}

// describeRest is about policies without a model, those out of the operator's
// hands, and objects that do not go away.
func (w *world) describeRest(want, got document) {
	for i := range w.Policies {
		p := &w.Policies[i]
		if isOptedOut(p) {
			got.set(KeyOf(p), "as it was when it was opted out", "true")
			got.set(KeyOf(p), "as it was when it was opted out", "%t", sameContent(w.history.Frozen[KeyOf(p)], p))
			continue
		}
		if w.modelOfPolicy(p) == nil && p.GetLabels()["app.kubernetes.io/managed-by"] == "maas-controller" {
			got.set(KeyOf(p), "exists although its model does not", "true")
		}
	}
	for key := range w.history.Frozen {
		want.set(key, "as it was when it was opted out", "true")
	}
	var all []metav1.Object
	for i := range w.Models {
		all = append(all, &w.Models[i])
	}
	for i := range w.Subscriptions {
		all = append(all, &w.Subscriptions[i])
	}
	for i := range w.AuthPolicies {
		all = append(all, &w.AuthPolicies[i])
	}
	for _, o := range all {
		if o.GetDeletionTimestamp() != nil {
			got.set(fmt.Sprintf("%T %s", o, nameOf(o)), "still being deleted", "%s", strings.Join(o.GetFinalizers(), ","))
		}
	}
}

func (w *world) modelOfPolicy(p *unstructured.Unstructured) *model {
	for _, m := range w.models {
		if m.auth == p || m.limits == p {
			return m
		}
	}
	return nil
}

func isOptedOut(p *unstructured.Unstructured) bool {
	return p != nil && p.GetAnnotations()["opendatahub.io/managed"] == "false"
}

// sameContent compares all of a policy but its status.
func sameContent(a, b *unstructured.Unstructured) bool {
	return a != nil && equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"]) &&
		equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) && equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels())
}

// sorted joins words in a fixed order.
func sorted(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, ",")
}
