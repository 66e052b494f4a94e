// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// verdict is what one reference to a model has come to.
type verdict string

const (
	// lost has no effect until somebody edits something.
	lost verdict = "lost"
	// broken stands in a policy that the gateway does not enforce.
	broken verdict = "broken"
	// waiting is in order, and something is missing yet.
	waiting verdict = "waiting"
	// enforced works.
	enforced verdict = "enforced"
	// unsettled is not known because Kuadrant has not answered yet.
	unsettled verdict = "Kuadrant has not answered yet"
	// hoped is broken for a reason that passes by itself as a rule: for a while it
	// may be waiting, or what it was before, just as well.
	hoped verdict = "hoped"
)

// hope is how long a reason of Kuadrant's is taken for one that passes.
func hope(reason string) time.Duration {
	switch reason {
	case "Unknown":
		return 30 * time.Second
	case "InvalidCelExpression":
		return 5 * time.Second
	default:
		return 0
	}
}

// settle replaces each verdict that may be several by the one that the status has.
func settle(verdicts []verdict, phase v1alpha1.Phase) []verdict {
	for _, instead := range []verdict{broken, waiting, enforced} {
		settled := slices.Clone(verdicts)
		for i := range settled {
			if settled[i] == hoped {
				settled[i] = instead
			}
		}
		if phaseOf(settled) == phase {
			return settled
		}
	}
	return verdicts
}

// phaseOf sums up the references of an object.
func phaseOf(verdicts []verdict) v1alpha1.Phase {
	count := map[verdict]int{}
	for _, v := range verdicts {
		count[v]++
	}
	switch {
	case count[unsettled] > 0:
		return v1alpha1.Phase(unsettled)
	case len(verdicts) == 0:
		return v1alpha1.PhaseInvalid
	case count[lost] == len(verdicts):
		return v1alpha1.PhaseFailed
	case count[lost]+count[broken]+count[hoped] > 0:
		return v1alpha1.PhaseDegraded
	case count[waiting] > 0 && count[enforced] > 0:
		return v1alpha1.PhaseDegraded
	case count[waiting] > 0:
		return v1alpha1.PhasePending
	default:
		return v1alpha1.PhaseActive
	}
}

// answer is Kuadrant's word on a policy.
func (w *world) answer(p *unstructured.Unstructured) verdict {
	observed, _, _ := unstructured.NestedInt64(p.Object, "status", "observedGeneration")
	if observed < p.GetGeneration() {
		return unsettled
	}
	conditions, _, _ := unstructured.NestedSlice(p.Object, "status", "conditions")
	holds := map[any]bool{}
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		holds[condition["type"]] = condition["status"] == "True"
		reason, _ := condition["reason"].(string)
		since, _ := condition["lastTransitionTime"].(string)
		began, err := time.Parse(time.RFC3339, since)
		if condition["status"] != "True" && (err != nil || w.history.Now.Before(began.Add(hope(reason)+leeway))) && hope(reason) > 0 {
			return hoped
		}
	}
	if holds["Accepted"] && holds["Enforced"] {
		return enforced
	}
	return broken
}

// leeway is what the operator may be late by.
const leeway = 5 * time.Second

// absentFrom is the verdict on a reference that an existing policy does not hold.
func absentFrom(p *unstructured.Unstructured) verdict {
	if isOptedOut(p) {
		return lost
	}
	return waiting
}

// admitted tells whether a reference to a model counts at all.
func (w *world) admitted(key, namespace string) bool {
	m := w.models[key]
	return m != nil && m.tenant != "" && w.memberOf(namespace) == m.tenant && m.owns
}

func (w *world) describeSubscription(s *v1alpha1.MaaSSubscription, want, got document) {
	object := "MaaSSubscription " + nameOf(s)
	var ready, isReady []string
	is := map[string]bool{}
	for _, t := range s.Status.TokenRateLimitStatuses {
		is[t.Namespace+"/"+t.Model] = t.Ready
		isReady = append(isReady, fmt.Sprintf("%s/%s=%t", t.Namespace, t.Model, t.Ready))
	}
	models, verdicts := w.judgeEntries(s)
	for i, key := range models {
		ready = append(ready, fmt.Sprintf("%s=%t", key, verdicts[i] == enforced || verdicts[i] == hoped && is[key]))
	}
	verdicts = settle(verdicts, s.Status.Phase)
	want.set(object, "phase", "%s for generation %d", phaseOf(verdicts), s.Generation)
	got.set(object, "phase", "%s for generation %d", s.Status.Phase, s.Status.ObservedGeneration)
	want.set(object, "ready", "%s", strings.Join(ready, ","))
	got.set(object, "ready", "%s", strings.Join(isReady, ","))
	want.set(object, "identity", "%s", w.identity(s))
	got.set(object, "identity", "%s", s.Status.RateLimitIdentity)
}

// judgeEntries judges each distinct model of a subscription.
func (w *world) judgeEntries(s *v1alpha1.MaaSSubscription) (models []string, verdicts []verdict) {
	for i := range s.Spec.ModelRefs {
		key := s.Spec.ModelRefs[i].Namespace + "/" + s.Spec.ModelRefs[i].Name
		if !slices.Contains(models, key) {
			models, verdicts = append(models, key), append(verdicts, w.judgeEntry(s, key))
		}
	}
	return models, verdicts
}

// identity is what the rate limit identity has to be.
func (w *world) identity(s *v1alpha1.MaaSSubscription) string {
	switch {
	case w.history.BornLegacy[nameOf(s)]:
		return "legacy"
	case s.Status.RateLimitIdentity == "legacy" && (w.history.MaybeLegacy[nameOf(s)] || w.history.LimitsDrifted):
		return "legacy"
	default:
		return "short"
	}
}

func (w *world) judgeEntry(s *v1alpha1.MaaSSubscription, key string) verdict {
	m := w.models[key]
	set, valid := termsOf(s, key)
	switch {
	case !w.admitted(key, s.Namespace) || !valid:
		return lost
	case m.route == nil || m.limits == nil:
		return waiting
	case !covers(m.limits, set, nameOf(s), key, s.Status.RateLimitIdentity == "legacy"):
		return absentFrom(m.limits)
	default:
		return w.answer(m.limits)
	}
}

// covers tells whether a policy has a limit of these rates for the subscription.
func covers(p *unstructured.Unstructured, set rateSet, subscription, key string, legacy bool) bool {
	clause := `"` + IDOf(subscription, key) + `"`
	if legacy {
		clause = `"` + subscription + "@" + key + `"`
	}
	for name, value := range limitsOf(p) {
		limit, _ := value.(map[string]any)
		if (name == set.name || name == set.name+"-id" || name == set.name+"-key") && strings.Contains(predicateOf(limit), clause) {
			return true
		}
	}
	return false
}

func (w *world) describeAuthPolicy(p *v1alpha1.MaaSAuthPolicy, want, got document) {
	object := "MaaSAuthPolicy " + nameOf(p)
	var ready, isReady []string
	is := map[string]bool{}
	for _, t := range p.Status.AuthPolicies {
		is[t.ModelNamespace+"/"+t.Model] = t.Ready
		isReady = append(isReady, fmt.Sprintf("%s/%s=%t", t.ModelNamespace, t.Model, t.Ready))
	}
	verdicts, conflict := w.judgeAccess(p)
	for i, r := range p.Spec.ModelRefs {
		key := r.Namespace + "/" + r.Name
		ready = append(ready, fmt.Sprintf("%s=%t", key, verdicts[i] == enforced || verdicts[i] == hoped && is[key]))
	}
	verdicts = settle(verdicts, p.Status.Phase)
	want.set(object, "phase", "%s for generation %d", phaseOf(verdicts), p.Generation)
	got.set(object, "phase", "%s for generation %d", p.Status.Phase, p.Status.ObservedGeneration)
	want.set(object, "ready", "%s", strings.Join(ready, ","))
	got.set(object, "ready", "%s", strings.Join(isReady, ","))
	want.set(object, "conflict", "%t", conflict)
	got.set(object, "conflict", "%t", meta.IsStatusConditionTrue(p.Status.Conditions, "ConflictingAuthPolicy"))
}

// judgeAccess judges every reference, and tells whether a foreign AuthPolicy
// targets the route of one of the models.
func (w *world) judgeAccess(p *v1alpha1.MaaSAuthPolicy) (verdicts []verdict, conflict bool) {
	for _, r := range p.Spec.ModelRefs {
		key := r.Namespace + "/" + r.Name
		verdicts = append(verdicts, w.judgeGrant(p, key))
		if m := w.models[key]; m != nil && m.route != nil {
			conflict = conflict || slices.ContainsFunc(w.Policies, func(foreign unstructured.Unstructured) bool {
				target, _, _ := unstructured.NestedString(foreign.Object, "spec", "targetRef", "name")
				return foreign.GetKind() == "AuthPolicy" && foreign.GetNamespace() == m.route.Namespace && target == m.route.Name &&
					foreign.GetLabels()["app.kubernetes.io/managed-by"] != "maas-controller"
			})
		}
	}
	return verdicts, conflict
}

func (w *world) judgeGrant(p *v1alpha1.MaaSAuthPolicy, key string) verdict {
	m, usable := w.models[key], append(usableGroups(p), p.Spec.Subjects.Users...)
	switch {
	case !w.admitted(key, p.Namespace):
		return lost
	case m.route == nil:
		return waiting
	case len(usable) == 0:
		return lost
	case m.auth == nil || !holds(m.auth, p, usable):
		return absentFrom(m.auth)
	case len(usable) < len(p.Spec.Subjects.Groups)+len(p.Spec.Subjects.Users):
		return broken
	default:
		return w.answer(m.auth)
	}
}

// holds tells whether a policy was made of this generation of the auth policy and
// names all its subjects.
func holds(live *unstructured.Unstructured, p *v1alpha1.MaaSAuthPolicy, subjects []string) bool {
	generations := strings.Split(live.GetAnnotations()["maas.opendatahub.io/auth-policy-generations"], ",")
	if !slices.Contains(generations, fmt.Sprintf("%s=%d", nameOf(p), p.Generation)) {
		return false
	}
	if _, named, _ := unstructured.NestedMap(live.Object, "spec", "rules", "authorization", "subject-allowed"); !named {
		return true // Only maas-api decides.
	}
	users, groups := subjectsIn(live)
	return !slices.ContainsFunc(subjects, func(s string) bool { return !slices.Contains(users, s) && !slices.Contains(groups, s) })
}

func (w *world) describeModel(m *model, want, got document) {
	object := "MaaSModelRef " + m.key
	status := m.ref.Status
	route := ""
	if m.route != nil {
		route = m.route.Name
	}
	want.set(object, "phase", "%s for generation %d", w.phaseOfModel(m), m.ref.Generation)
	got.set(object, "phase", "%s for generation %d", status.Phase, status.ObservedGeneration)
	want.set(object, "route", "%s", route)
	got.set(object, "route", "%s", status.HTTPRouteName)
	want.set(object, "finalizers", "maas.opendatahub.io/model-cleanup")
	got.set(object, "finalizers", "%s", strings.Join(m.ref.Finalizers, ","))
	if m.tenant == "" {
		return
	}
	condition := func(name string, holds bool) {
		want.set(object, name, "%t", holds)
		c := meta.FindStatusCondition(status.Conditions, name)
		if c == nil {
			c = &metav1.Condition{Status: "missing"}
		}
		got.set(object, name, "%s", strings.ToLower(string(c.Status)))
	}
	condition("GovernanceAttached", w.governed(m))
	condition("RouteUnique", m.owns)
	wanted := len(m.access)+len(m.entries) > 0
	condition("PoliciesApplied", m.owns && wanted && !w.frozenInTime(m) && !isOptedOut(m.auth) && !isOptedOut(m.limits) && !w.rivalled(m))
}

// rivalled tells whether somebody else's policies are in force on the model's route:
// Kuadrant says so of one of the model's, or the model has no AuthPolicy and somebody
// else's is there.
func (w *world) rivalled(m *model) bool {
	if overridden(m.auth) || overridden(m.limits) {
		return true
	}
	return m.route != nil && len(m.access) == 0 && slices.ContainsFunc(w.Policies, func(p unstructured.Unstructured) bool {
		target, _, _ := unstructured.NestedString(p.Object, "spec", "targetRef", "name")
		return p.GetKind() == "AuthPolicy" && p.GetNamespace() == m.route.Namespace && target == m.route.Name && p.GetName() != "maas-auth-"+m.ref.Name
	})
}

// overridden tells whether Kuadrant says that others override a policy.
func overridden(policy *unstructured.Unstructured) bool {
	if policy == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(policy.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == "Enforced" && fields["reason"] == "Overridden"
	})
}

// governed tells whether an auth policy and a subscription of the model's tenant
// that can take effect refer to the model.
func (w *world) governed(m *model) bool {
	granted := slices.ContainsFunc(m.access, func(p *v1alpha1.MaaSAuthPolicy) bool {
		verdicts, _ := w.judgeAccess(p)
		return phaseOf(verdicts) != v1alpha1.PhaseFailed
	})
	for i := range w.Subscriptions {
		s := &w.Subscriptions[i]
		_, verdicts := w.judgeEntries(s)
		if entryFor(s, m.key) != nil && w.memberOf(s.Namespace) == m.tenant && phaseOf(verdicts) != v1alpha1.PhaseFailed && granted {
			return true
		}
	}
	return false
}
