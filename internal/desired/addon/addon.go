// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package addon decides what a condition says about an add-on: a group of objects,
// such as telemetry, that a tenant or an installation has beside what it cannot do
// without. It is pure and total: equal states give equal text. What the add-on consists
// of is decided elsewhere. An add-on that does not work never keeps anything else from
// working.
package addon

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// State is what is known of an add-on. The lists may be in any order, and name objects
// as people do: "<kind> <namespace>/<name>".
type State struct {
	// Name is what people call it, at the beginning of a sentence, in the singular.
	Name string
	// Wanted is false when it is switched off, or has no use here: then there is
	// nothing to say.
	Wanted bool
	// Unrendered says why its objects could not be made; empty when they could.
	Unrendered string
	// Unread holds when something that it depends on could not be read: what was known
	// may still hold.
	Unread bool
	// Refused are objects that the cluster did not take, or that could not be written
	// for another reason.
	Refused []string
	// Foreign are objects of others that have the names of its objects.
	Foreign []string
	// MissingAPIs are the names of the CustomResourceDefinitions that the cluster does
	// not serve and without which a part of it, or all, is left out.
	MissingAPIs []string
	// OptedOut are objects that somebody took out of the operator's hands.
	OptedOut []string
	// NotAccepted are objects that whoever they are meant for does not accept.
	NotAccepted []string
	// NotAvailable are Deployments that have too few Pods to serve.
	NotAvailable []string
}

// Verdict is what a condition says of an add-on.
type Verdict struct {
	// Present is false when the condition is to be absent.
	Present bool
	// Keep leaves the condition as it is.
	Keep bool

	Status  metav1.ConditionStatus
	Reason  v1alpha1.ConditionReason
	Message string
}

// Degrades tells whether the verdict is something that an administrator should know.
func (v Verdict) Degrades() bool { return v.Present && !v.Keep && v.Status != metav1.ConditionTrue }

// finding is one thing that can be wrong, and what is said of it.
type finding struct {
	reason v1alpha1.ConditionReason
	what   []string
	format string
}

// findings are in the order in which they are named: those that hide others first.
func (s State) findings() []finding {
	return []finding{
		{v1alpha1.ReasonApplyFailed, s.Refused, "%s is incomplete: the cluster refused %s; see the controller's log. It is tried again."},
		{v1alpha1.ReasonForeignObject, s.Foreign, "%s is incomplete: others have %s, which was left alone. Delete or rename it; if it is to be managed, remove its controller reference and label it " +
			v1alpha1.LabelManagedBy + "=" + v1alpha1.ManagedByValue + "."},
		{v1alpha1.ReasonAPIMissing, s.MissingAPIs, "%s is incomplete: the cluster does not serve %s. Install what brings it; the objects are rendered when it appears."},
		{v1alpha1.ReasonNotAccepted, s.NotAccepted, "%s does not work: %s is not accepted; its status says why."},
		{v1alpha1.ReasonNotAvailable, s.NotAvailable, "%s is not available: too few Pods of %s run and are ready. If it lasts, look at the Pods: their events and logs say why."},
		{v1alpha1.ReasonOptedOut, s.OptedOut, "%s is in part not managed: %s is annotated " + v1alpha1.AnnotationManaged + "=false. Remove the annotation to have it managed again."},
	}
}

// Decide says what the condition of an add-on is to say.
func Decide(s State) Verdict {
	switch {
	case !s.Wanted:
		return Verdict{}
	case s.Unread:
		return Verdict{Present: true, Keep: true}
	case s.Unrendered != "":
		return failing(v1alpha1.ReasonRenderFailed, fmt.Sprintf("%s could not be rendered: %s. What there is of it stays in place.", s.Name, s.Unrendered))
	}
	for _, f := range s.findings() {
		if len(f.what) > 0 {
			return failing(f.reason, fmt.Sprintf(f.format, s.Name, strings.Join(slices.Compact(slices.Sorted(slices.Values(f.what))), ", ")))
		}
	}
	return Verdict{Present: true, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReconciled}
}

func failing(reason v1alpha1.ConditionReason, message string) Verdict {
	return Verdict{Present: true, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}
