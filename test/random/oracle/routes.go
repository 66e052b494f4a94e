// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// service is the backend of a model, nil when there is none.
func (w *world) service(ref *v1alpha1.MaaSModelRef) *unstructured.Unstructured {
	for i := range w.Services {
		if s := &w.Services[i]; s.GetNamespace() == ref.Namespace && s.GetName() == ref.Spec.ModelRef.Name {
			return s
		}
	}
	return nil
}

// routeOf is the route of a model: of those that carry the labels of its service
// and those that the service names, one that the tenant's gateway serves, else
// one attached to it, else any; the first by name among those.
func (w *world) routeOf(m *model) *gwapiv1.HTTPRoute {
	named := routesNamedBy(w.service(m.ref))
	var best *gwapiv1.HTTPRoute
	for i := range w.Routes {
		r := &w.Routes[i]
		labelled := r.Labels["app.kubernetes.io/name"] == m.ref.Spec.ModelRef.Name &&
			r.Labels["app.kubernetes.io/component"] == "llminferenceservice-router" &&
			r.Labels["app.kubernetes.io/part-of"] == "llminferenceservice"
		if r.Namespace != m.ref.Namespace || !labelled && !slices.Contains(named, r.Name) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(worth(best, m.gateway), worth(r, m.gateway)), cmp.Compare(r.Name, best.Name)) < 0 {
			best = r
		}
	}
	return best
}

func routesNamedBy(service *unstructured.Unstructured) []string {
	if service == nil {
		return nil
	}
	refs, _, _ := unstructured.NestedSlice(service.Object, "spec", "router", "route", "http", "refs")
	var names []string
	for _, ref := range refs {
		if entry, ok := ref.(map[string]any); ok {
			name, _ := entry["name"].(string)
			names = append(names, name)
		}
	}
	return names
}

// worth is 2 for a route that a gateway serves, 1 for one attached to it.
func worth(r *gwapiv1.HTTPRoute, gateway string) int {
	if !attached(r, gateway) {
		return 0
	}
	if accepted(r, gateway) {
		return 2
	}
	return 1
}

func attached(r *gwapiv1.HTTPRoute, gateway string) bool {
	return slices.ContainsFunc(r.Spec.ParentRefs, func(p gwapiv1.ParentReference) bool { return parentOf(r, p) == gateway })
}

func accepted(r *gwapiv1.HTTPRoute, gateway string) bool {
	return slices.ContainsFunc(r.Status.Parents, func(p gwapiv1.RouteParentStatus) bool {
		return parentOf(r, p.ParentRef) == gateway && meta.IsStatusConditionTrue(p.Conditions, "Accepted")
	})
}

func parentOf(r *gwapiv1.HTTPRoute, p gwapiv1.ParentReference) string {
	if p.Namespace != nil {
		return string(*p.Namespace) + "/" + string(p.Name)
	}
	return r.Namespace + "/" + string(p.Name)
}

// phaseOfModel is whether a request to the model would be answered.
func (w *world) phaseOfModel(m *model) v1alpha1.ModelPhase {
	service := w.service(m.ref)
	switch {
	case m.tenant == "" || service == nil:
		return v1alpha1.ModelPhaseFailed
	case m.route == nil:
		return v1alpha1.ModelPhasePending
	case !attached(m.route, m.gateway):
		return v1alpha1.ModelPhaseFailed
	case !accepted(m.route, m.gateway):
		return v1alpha1.ModelPhasePending
	case !ready(service):
		return v1alpha1.ModelPhaseUnhealthy
	default:
		return v1alpha1.ModelPhaseReady
	}
}

// ready is KServe's word on a service.
func ready(service *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}
