// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// safeGroup is the pattern of the names of groups that somebody can be in.
var safeGroup = regexp.MustCompile(`^[A-Za-z0-9:._/-]+$`)

// describeAccess is about the AuthPolicy of a model.
func (w *world) describeAccess(m *model, want, got document) {
	name := "AuthPolicy " + m.ref.Namespace + "/maas-auth-" + m.ref.Name
	if isOptedOut(m.auth) || w.frozenInTime(m) {
		return
	}
	if m.auth != nil {
		describeActualAccess(m.auth, name, got)
	}
	if m.owns && m.route != nil && len(m.access) > 0 {
		describeWantedAccess(m, name, want)
	}
}

func describeWantedAccess(m *model, object string, want document) {
	want.set(object, "target", "%s", m.route.Name)
	want.set(object, "labels", "%s", labelsFor(m, "maas-auth-policy", "auth-policy"))
	var contributors, generations, users, groups []string
	for _, p := range m.access {
		contributors = append(contributors, nameOf(p))
		generations = append(generations, fmt.Sprintf("%s=%d", nameOf(p), p.Generation))
		users = append(users, p.Spec.Subjects.Users...)
		groups = append(groups, usableGroups(p)...)
	}
	want.set(object, "contributors", "%s", sorted(contributors))
	want.set(object, "generations", "%s", sorted(generations))
	want.set(object, "users", "%s", distinct(users))
	want.set(object, "groups", "%s", distinct(groups))
	want.set(object, "asks for model", "true")
	want.set(object, "asks", "%s", serviceOf(m.tenant))
}

func usableGroups(p *v1alpha1.MaaSAuthPolicy) []string {
	var out []string
	for _, g := range p.Spec.Subjects.Groups {
		if safeGroup.MatchString(g.Name) {
			out = append(out, g.Name)
		}
	}
	return out
}

func distinct(words []string) string {
	set := map[string]bool{}
	for _, word := range words {
		set[word] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ",")
}

// serviceOf is the service that answers for a tenant.
func serviceOf(tenant string) string {
	if tenant == DefaultNamespace {
		return "maas-api"
	}
	return "maas-api-" + tenant
}

// knownIdentities are the ways to sign in that the operator offers.
var knownIdentities = []string{"api-keys", "api-keys-x-api-key", "oidc-identities", "openshift-identities"}

func describeActualAccess(p *unstructured.Unstructured, object string, got document) {
	target, _, _ := unstructured.NestedString(p.Object, "spec", "targetRef", "name")
	got.set(object, "target", "%s", target)
	got.set(object, "labels", "%s", labelsOf(p))
	got.set(object, "contributors", "%s", p.GetAnnotations()["maas.opendatahub.io/auth-policies"])
	got.set(object, "generations", "%s", p.GetAnnotations()["maas.opendatahub.io/auth-policy-generations"])
	users, groups := subjectsIn(p)
	got.set(object, "users", "%s", strings.Join(users, ","))
	got.set(object, "groups", "%s", strings.Join(groups, ","))
	model := p.GetLabels()["maas.opendatahub.io/model-namespace"] + "/" + p.GetLabels()["maas.opendatahub.io/model"]
	body, _, _ := unstructured.NestedString(p.Object, "spec", "rules", "metadata", "subscription-info", "http", "body", "expression")
	got.set(object, "asks for model", "%t", strings.Contains(body, `"requestedModel": "`+model+`"`))
	address, _, _ := unstructured.NestedString(p.Object, "spec", "rules", "metadata", "subscription-info", "http", "url")
	if parsed, err := url.Parse(address); err == nil {
		service, _, _ := strings.Cut(parsed.Hostname(), ".")
		got.set(object, "asks", "%s", service)
	}
	identities, _, _ := unstructured.NestedMap(p.Object, "spec", "rules", "authentication")
	for name := range identities {
		if !slices.Contains(knownIdentities, name) {
			got.set(object, "admits strangers by", "%s", name)
		}
	}
}

var listLiteral = regexp.MustCompile(` in \[([^\]]*)\]`)

// subjectsIn reads the users and groups off the rule that names them.
func subjectsIn(p *unstructured.Unstructured) (users, groups []string) {
	rule, _, _ := unstructured.NestedMap(p.Object, "spec", "rules", "authorization", "subject-allowed", "patternMatching")
	lists := listLiteral.FindAllStringSubmatch(strings.Join(texts(rule, "patterns", "predicate"), " "), -1)
	if len(lists) != 2 {
		return []string{fmt.Sprintf("a rule with %d lists", len(lists))}, nil
	}
	return unquote(lists[0][1]), unquote(lists[1][1])
}

func unquote(list string) []string {
	var out []string
	for _, item := range quoted.FindAllStringSubmatch(list, -1) {
		out = append(out, item[1])
	}
	return out
}
