// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	discoveryExempt = `!(request.method == "GET" && request.url_path.endsWith("/v1/models"))`

	// ofNobody is the limit of who is let through although nobody is known.
	ofNobody = "nobody"
	nobody   = `!("identity" in auth) || auth.identity.userid == null`
)

// describeLimits is about the TokenRateLimitPolicy of a model.
func (w *world) describeLimits(m *model, want, got document) {
	name := "TokenRateLimitPolicy " + m.ref.Namespace + "/maas-trlp-" + m.ref.Name
	if isOptedOut(m.limits) || w.frozenInTime(m) {
		return
	}
	if m.limits != nil {
		w.describeActualLimits(m.limits, name, got)
	}
	if m.owns && m.route != nil && len(m.entries) > 0 {
		w.describeWantedLimits(m, name, want)
	}
}

// frozenInTime tells whether the policies of a model stay whatever they are:
// while somebody refers to it, and it has no route or no known tenant.
func (*world) frozenInTime(m *model) bool {
	return m.referred && (m.tenant == "" || m.route == nil)
}

func (w *world) describeWantedLimits(m *model, object string, want document) {
	want.set(object, "target", "%s", m.route.Name)
	want.set(object, "labels", "%s", labelsFor(m, "maas-subscription", "token-rate-limit-policy"))
	var contributors []string
	members := map[string][]string{}
	for _, e := range m.entries {
		contributors = append(contributors, nameOf(e.subscription))
		limit, member := w.placeOf(m, e)
		members[limit] = append(members[limit], member)
		counter := "auth.identity.selected_subscription_id"
		if isLegacy(e) {
			counter = "auth.identity.selected_subscription_key"
		}
		rates, counters := slices.Clone(e.set.rates), counter+",auth.identity.userid"
		if e.set.name == unlimitedName {
			counters = ""
		}
		want.set(object, "limit "+limit+" rates", "%s", strings.Join(rates, ","))
		want.set(object, "limit "+limit+" counters", "%s", counters)
	}
	for limit, list := range members {
		want.set(object, "limit "+limit+" members", "%s", sorted(list))
	}
	want.set(object, "limit "+ofNobody, "0-per-1m  %s", nobody)
	want.set(object, "contributors", "%s", sorted(contributors))
	want.set(object, "left out", "")
}

func isLegacy(e entry) bool { return e.subscription.Status.RateLimitIdentity == "legacy" }

// placeOf is the limit of a member, and how its predicate names the member. Of
// legacy and short members of equal rates those that came second have a limit with
// a suffix, which they keep: -key if they are legacy, else -id.
func (w *world) placeOf(m *model, e entry) (limit, member string) {
	key, actual := nameOf(e.subscription)+"@"+m.key, limitNames(m.limits)
	ofLegacy, ofShort := e.set.name, e.set.name
	if slices.Contains(actual, e.set.name+"-key") {
		ofLegacy += "-key"
	}
	beside := slices.ContainsFunc(m.entries, func(other entry) bool { return other.set.name == e.set.name && isLegacy(other) })
	once := w.history.LegacyLimits[m.key+":"+e.set.name] || w.history.LimitsDrifted
	if beside && ofLegacy == e.set.name || once && slices.Contains(actual, e.set.name+"-id") {
		ofShort += "-id"
	}
	limit, member = ofShort, "id "+IDOf(nameOf(e.subscription), m.key)
	if isLegacy(e) {
		limit, member = ofLegacy, "key "+key
	}
	if e.set.name == unlimitedName {
		limit = e.set.name
	}
	return limit, member
}

func labelsFor(m *model, partOf, component string) string {
	return fmt.Sprintf("%s/%s by maas-controller, %s of %s", m.ref.Namespace, m.ref.Name, component, partOf)
}

func labelsOf(p *unstructured.Unstructured) string {
	l := p.GetLabels()
	return fmt.Sprintf("%s/%s by %s, %s of %s", l["maas.opendatahub.io/model-namespace"], l["maas.opendatahub.io/model"],
		l["app.kubernetes.io/managed-by"], l["app.kubernetes.io/component"], l["app.kubernetes.io/part-of"])
}

func limitNames(p *unstructured.Unstructured) []string {
	var names []string
	for name := range limitsOf(p) {
		names = append(names, name)
	}
	return names
}

func limitsOf(p *unstructured.Unstructured) map[string]any {
	if p == nil {
		return nil
	}
	limits, _, _ := unstructured.NestedMap(p.Object, "spec", "limits")
	return limits
}

func (*world) describeActualLimits(p *unstructured.Unstructured, object string, got document) {
	target, _, _ := unstructured.NestedString(p.Object, "spec", "targetRef", "name")
	got.set(object, "target", "%s", target)
	got.set(object, "labels", "%s", labelsOf(p))
	for name, value := range limitsOf(p) {
		limit, _ := value.(map[string]any)
		predicate := predicateOf(limit)
		if name == ofNobody {
			got.set(object, "limit "+name, "%s %s %s", strings.Join(ratesIn(limit), ","), strings.Join(texts(limit, "counters", "expression"), ","), predicate)
			continue
		}
		members, rest := membersOf(predicate)
		got.set(object, "limit "+name+" members", "%s", sorted(members))
		if rest != "" {
			got.set(object, "limit "+name+" has more conditions", "%s", rest)
		}
		got.set(object, "limit "+name+" rates", "%s", strings.Join(ratesIn(limit), ","))
		got.set(object, "limit "+name+" counters", "%s", strings.Join(texts(limit, "counters", "expression"), ","))
	}
	got.set(object, "contributors", "%s", p.GetAnnotations()["maas.opendatahub.io/subscriptions"])
	got.set(object, "left out", "%s", p.GetAnnotations()["maas.opendatahub.io/excluded-subscriptions"])
}

func predicateOf(limit map[string]any) string {
	return strings.Join(texts(limit, "when", "predicate"), " && ")
}

func ratesIn(limit map[string]any) []string {
	var out []string
	rates, _, _ := unstructured.NestedSlice(limit, "rates")
	for _, r := range rates {
		rate, _ := r.(map[string]any)
		out = append(out, fmt.Sprintf("%v-per-%v", rate["limit"], rate["window"]))
	}
	return out
}

// texts reads a field of each object of a list.
func texts(object map[string]any, list, field string) []string {
	var out []string
	items, _, _ := unstructured.NestedSlice(object, list)
	for _, i := range items {
		item, _ := i.(map[string]any)
		text, _ := item[field].(string)
		out = append(out, text)
	}
	return out
}

var (
	equalClause = regexp.MustCompile(`auth\.identity\.selected_subscription_(id|key) == "([^"]*)"`)
	inClause    = regexp.MustCompile(`auth\.identity\.selected_subscription_(id|key) in \[([^\]]*)\]`)
	quoted      = regexp.MustCompile(`"([^"]*)"`)
)

// MembersOf reads the members of each limit of a TokenRateLimitPolicy, each as
// "id <short id>" or "key <model-scoped key>".
func MembersOf(policy *unstructured.Unstructured) map[string][]string {
	out := map[string][]string{}
	for name, value := range limitsOf(policy) {
		if name == ofNobody {
			continue
		}
		limit, _ := value.(map[string]any)
		out[name], _ = membersOf(predicateOf(limit))
	}
	return out
}

// membersOf reads the members off a predicate, and what else it says beside the
// exemption of discovery.
func membersOf(predicate string) (members []string, rest string) {
	rest, exempt := strings.CutSuffix(predicate, " && "+discoveryExempt)
	for _, match := range equalClause.FindAllStringSubmatch(rest, -1) {
		members = append(members, match[1]+" "+match[2])
	}
	for _, match := range inClause.FindAllStringSubmatch(rest, -1) {
		for _, item := range quoted.FindAllStringSubmatch(match[2], -1) {
			members = append(members, match[1]+" "+item[1])
		}
	}
	rest = inClause.ReplaceAllString(equalClause.ReplaceAllString(rest, ""), "")
	if rest = strings.Trim(rest, "()| "); rest == "" && !exempt {
		rest = "discovery is not exempt"
	}
	return members, rest
}
