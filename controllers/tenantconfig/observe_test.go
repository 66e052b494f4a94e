// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

func untyped(t *testing.T, object any, apiVersion, kind string) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	return u
}

// E-120.
func TestADeploymentIsJudgedByItsNewestTemplate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replicas *int32
		status   appsv1.DeploymentStatus
		want     metav1.ConditionStatus
	}{
		"as wished":                    {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 2, AvailableReplicas: 2}, metav1.ConditionTrue},
		"one when nothing is said":     {nil, appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 1, AvailableReplicas: 1}, metav1.ConditionTrue},
		"of an earlier generation":     {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, metav1.ConditionUnknown},
		"too few of the new template":  {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 1, AvailableReplicas: 2}, metav1.ConditionUnknown},
		"one of the former template":   {new(int32(1)), appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1}, metav1.ConditionUnknown},
		"too few that are available":   {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 2, AvailableReplicas: 1}, metav1.ConditionUnknown},
		"not looked at by its manager": {new(int32(1)), appsv1.DeploymentStatus{}, metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "maas-api", Generation: 3}, Status: test.status}
			d.Spec.Replicas = test.replicas
			got, err := tenantconfig.JudgeDeployment(untyped(t, d, "apps/v1", "Deployment"))
			if err != nil || got.State != test.want || (got.Message == "") != (test.want == metav1.ConditionTrue) {
				t.Errorf("JudgeDeployment() = %+v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func said(kind string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Because", ObservedGeneration: generation}
}

// W-25: a route that leads nowhere is no route.
func TestARouteIsJudgedByTheTenantsGateway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parent  string // The Gateway in the route's spec and status.
		route   []metav1.Condition
		gateway []metav1.Condition
		want    metav1.ConditionStatus
	}{
		"accepted":                           {"red", []metav1.Condition{said("Accepted", "True", 3)}, nil, metav1.ConditionTrue},
		"accepted, of no generation":         {"red", []metav1.Condition{said("Accepted", "True", 0)}, nil, metav1.ConditionTrue},
		"accepted in an earlier one":         {"red", []metav1.Condition{said("Accepted", "True", 2)}, nil, metav1.ConditionUnknown},
		"nothing said":                       {"red", nil, nil, metav1.ConditionUnknown},
		"refused":                            {"red", []metav1.Condition{said("Accepted", "False", 3)}, nil, metav1.ConditionFalse},
		"accepted, without its Service":      {"red", []metav1.Condition{said("Accepted", "True", 3), said("ResolvedRefs", "False", 3)}, nil, metav1.ConditionFalse},
		"of another Gateway":                 {"blue", []metav1.Condition{said("Accepted", "True", 3)}, nil, metav1.ConditionFalse},
		"behind a Gateway that is not up":    {"red", []metav1.Condition{said("Accepted", "True", 3)}, []metav1.Condition{said("Programmed", "False", 5)}, metav1.ConditionFalse},
		"behind one that was not up earlier": {"red", []metav1.Condition{said("Accepted", "True", 3)}, []metav1.Condition{said("Programmed", "False", 4)}, metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := gwapiv1.ParentReference{Namespace: new(gwapiv1.Namespace("gateways")), Name: gwapiv1.ObjectName(test.parent)}
			route := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "maas-api-route", Generation: 3}}
			route.Spec.ParentRefs = []gwapiv1.ParentReference{parent}
			route.Status.Parents = []gwapiv1.RouteParentStatus{{ParentRef: parent, ControllerName: "example.com/gateway", Conditions: test.route}}
			gateway := &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "gateways", Name: "red", Generation: 5}}
			gateway.Status.Conditions = test.gateway
			got, err := tenantconfig.JudgeRoute(untyped(t, route, "gateway.networking.k8s.io/v1", "HTTPRoute"), gateway)
			if err != nil || got.State != test.want || (got.Message == "") != (test.want == metav1.ConditionTrue) {
				t.Errorf("JudgeRoute() = %+v, %v, want %s", got, err, test.want)
			}
		})
	}
}

// What Kuadrant has not judged as it stands may never be enforced; what it calls unknown
// for a moment passes.
func TestAPolicyIsJudgedAsItStands(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	policy := func(generation int64, enforced metav1.ConditionStatus, reason string) *unstructured.Unstructured {
		p := kuadrant.New(kuadrant.AuthPolicy)
		p.SetNamespace("infra")
		p.SetName("maas-api-auth-policy")
		p.SetGeneration(generation)
		judged := func(kind string, status metav1.ConditionStatus, reason string) any {
			return map[string]any{"type": kind, "status": string(status), "reason": reason, "lastTransitionTime": now.Format(time.RFC3339)}
		}
		p.Object["status"] = map[string]any{"observedGeneration": int64(2), "conditions": []any{judged("Accepted", "True", "Accepted"), judged("Enforced", enforced, reason)}}
		return p
	}
	partly := func(p *unstructured.Unstructured) *unstructured.Unstructured {
		judged := p.Object["status"].(map[string]any)["conditions"].([]any)
		judged[1].(map[string]any)["message"] = "AuthPolicy has been partially enforced"
		return p
	}
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		want    metav1.ConditionStatus
		passing bool
	}{
		"enforced":                   {policy(2, "True", "Enforced"), metav1.ConditionTrue, false},
		"changed since":              {policy(3, "True", "Enforced"), metav1.ConditionUnknown, false},
		"enforced on a part only":    {partly(policy(2, "True", "Enforced")), metav1.ConditionFalse, false},
		"unknown for a moment":       {policy(2, "False", "Unknown"), metav1.ConditionUnknown, true},
		"refused":                    {policy(2, "False", "Overridden"), metav1.ConditionFalse, false},
		"another controller owns it": {nil, metav1.ConditionFalse, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tenantconfig.JudgePolicy(policy(2, "True", "Enforced"), test.live, now)
			if got.State != test.want || got.Passing != test.passing || (got.Message == "") != (test.want == metav1.ConditionTrue) {
				t.Errorf("JudgePolicy() = %+v, want %s, passing %t", got, test.want, test.passing)
			}
		})
	}
}

func TestMonitoringIsJudgedInOrder(t *testing.T) {
	t.Parallel()
	all := func(third metav1.ConditionStatus) []any {
		return []any{
			map[string]any{"type": "MonitoringReady", "status": "True"},
			map[string]any{"type": "MonitoringStackAvailable", "status": "True"},
			map[string]any{"type": "PersesAvailable", "status": string(third), "reason": "NoPerses"},
		}
	}
	for name, test := range map[string]struct {
		conditions []any
		want       string
	}{
		"all there":        {all(metav1.ConditionTrue), ""},
		"nothing said":     {nil, "has no conditions yet"},
		"one missing":      {all(metav1.ConditionTrue)[:2], "has no condition PersesAvailable"},
		"one not True":     {all(metav1.ConditionFalse), "reports PersesAvailable=False, reason NoPerses"},
		"the first counts": {all(metav1.ConditionFalse)[1:], "has no condition MonitoringReady"},
		"one not known":    {all(metav1.ConditionUnknown), "reports PersesAvailable=Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instance := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "default-dsci"}, "status": map[string]any{"conditions": test.conditions}}}
			got := tenantconfig.MonitoringProblem(instance)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("MonitoringProblem() = %q, want %q in it", got, test.want)
			}
		})
	}
}
