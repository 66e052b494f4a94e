// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// world is what the API server holds, read once.
type world struct {
	configs       []v1alpha1.Config
	tenants       []v1alpha1.AITenant
	settings      []v1alpha1.MaasTenantConfig
	deployments   []appsv1.Deployment
	models        []v1alpha1.MaaSModelRef
	authPolicies  []v1alpha1.MaaSAuthPolicy
	subscriptions []v1alpha1.MaaSSubscription
	generated     []unstructured.Unstructured
}

func readWorld(ctx context.Context, c client.Client) (*world, error) {
	var (
		configs       v1alpha1.ConfigList
		tenants       v1alpha1.AITenantList
		settings      v1alpha1.MaasTenantConfigList
		models        v1alpha1.MaaSModelRefList
		authPolicies  v1alpha1.MaaSAuthPolicyList
		subscriptions v1alpha1.MaaSSubscriptionList
	)
	for _, list := range []client.ObjectList{&configs, &tenants, &settings, &models, &authPolicies, &subscriptions} {
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	deployments, err := serverDeployments(ctx, c)
	if err != nil {
		return nil, err
	}
	w := &world{
		configs: configs.Items, tenants: tenants.Items, settings: settings.Items, deployments: deployments,
		models: models.Items, authPolicies: authPolicies.Items, subscriptions: subscriptions.Items,
	}
	for _, kind := range []kuadrant.Kind{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: kind.GVK().Group, Version: kind.GVK().Version, Kind: string(kind) + "List",
		})
		if err := c.List(ctx, list, client.HasLabels{v1alpha1.LabelModel}); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		w.generated = append(w.generated, list.Items...)
	}
	return w, nil
}

// report turns the world into what is shown, model by model.
func (w *world) report() report {
	r := report{Configs: w.configReports(), Tenants: w.tenantReports()}
	for i := range w.models {
		m := &w.models[i]
		name := client.ObjectKeyFromObject(m)
		row := modelReport{
			Name: name.String(), Phase: string(m.Status.Phase),
			Endpoint: m.Status.Endpoint, BaseURL: m.Status.BaseURL, Callers: w.callers(name),
		}
		for j := range w.generated {
			u := &w.generated[j]
			if !generatedFor(u, name) {
				continue
			}
			row.Policies = append(row.Policies, policyReport{
				Kind: u.GetKind(), Name: client.ObjectKeyFromObject(u).String(), State: enforcement(u),
			})
			row.Limits = append(row.Limits, w.limits(u, name)...)
		}
		r.Models = append(r.Models, row)
	}
	return r
}

func generatedFor(u *unstructured.Unstructured, model types.NamespacedName) bool {
	return u.GetLabels()[v1alpha1.LabelModel] == model.Name &&
		cmp.Or(u.GetLabels()[v1alpha1.LabelModelNamespace], u.GetNamespace()) == model.Namespace
}

// enforcement says in one phrase whether a generated policy is in force.
func enforcement(u *unstructured.Unstructured) string {
	conditions := conditionsOf(u)
	observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	accepted := meta.FindStatusCondition(conditions, kuadrant.ConditionAccepted)
	enforced := meta.FindStatusCondition(conditions, kuadrant.ConditionEnforced)
	switch {
	case observed != u.GetGeneration():
		return "not looked at yet"
	case accepted != nil && accepted.Status != metav1.ConditionTrue:
		return "not accepted: " + accepted.Reason
	case enforced == nil:
		return "unknown"
	case enforced.Status != metav1.ConditionTrue:
		return "not enforced: " + enforced.Reason
	default:
		return "Enforced"
	}
}

func conditionsOf(u *unstructured.Unstructured) []metav1.Condition {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	var typed struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &typed) != nil {
		return nil
	}
	return typed.Conditions
}

func (w *world) callers(model types.NamespacedName) []callerReport {
	var out []callerReport
	for i := range w.authPolicies {
		p := &w.authPolicies[i]
		if !slices.ContainsFunc(p.Spec.ModelRefs, func(r v1alpha1.ModelReference) bool {
			return r.Namespace == model.Namespace && r.Name == model.Name
		}) {
			continue
		}
		out = append(out, callerReport{
			Policy: client.ObjectKeyFromObject(p).String(), Phase: string(p.Status.Phase),
			Groups: groupNames(p.Spec.Subjects.Groups), Users: p.Spec.Subjects.Users,
		})
	}
	return out
}

// quoted finds the string literals of a predicate; subscriptions appear in
// them by id or by key.
var quoted = regexp.MustCompile(`"([^"\\]|\\.)*"`)

// limits lists the limits of a generated policy. Who is a member is read from
// the predicates, not from the subscriptions' status.
func (w *world) limits(u *unstructured.Unstructured, model types.NamespacedName) []limitReport {
	limits, _, _ := unstructured.NestedMap(u.Object, "spec", "limits")
	var out []limitReport
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit, _ := limits[name].(map[string]any)
		row := limitReport{Name: name}
		rates, _ := limit["rates"].([]any)
		for _, rate := range rates {
			m, _ := rate.(map[string]any)
			row.Rates = append(row.Rates, fmt.Sprintf("%v per %v", m["limit"], m["window"]))
		}
		when, _ := limit["when"].([]any)
		for _, item := range when {
			m, _ := item.(map[string]any)
			predicate, _ := m["predicate"].(string)
			row.Members = append(row.Members, w.members(predicate, model)...)
		}
		out = append(out, row)
	}
	return out
}

func (w *world) members(predicate string, model types.NamespacedName) []memberReport {
	named := map[string]bool{}
	for _, literal := range quoted.FindAllString(predicate, -1) {
		named[literal] = true
	}
	var out []memberReport
	for i := range w.subscriptions {
		s := &w.subscriptions[i]
		key := fmt.Sprintf("%s/%s@%s", s.Namespace, s.Name, model)
		if !named[fmt.Sprintf("%q", key)] && !named[fmt.Sprintf("%q", shortID(key))] {
			continue
		}
		out = append(out, memberReport{
			Subscription: client.ObjectKeyFromObject(s).String(), Phase: string(s.Status.Phase),
			Groups: groupNames(s.Spec.Owner.Groups), Users: s.Spec.Owner.Users,
		})
	}
	return out
}

// shortID is computed here once more, independently of the operator.
func shortID(key string) string {
	const digits = 16
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:digits]
}

func groupNames(groups []v1alpha1.GroupReference) []string {
	out := make([]string, 0, len(groups))
	for _, g := range groups {
		out = append(out, g.Name)
	}
	return out
}
