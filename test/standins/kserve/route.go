// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const workloadPort = 8000

// RouterLabels are the labels by which the route of a service is found.
func RouterLabels(service string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      service,
		"app.kubernetes.io/component": "llminferenceservice-router",
		"app.kubernetes.io/part-of":   "llminferenceservice",
	}
}

func hasRouterLabels(route client.Object, service string) bool {
	labels := route.GetLabels()
	for key, value := range RouterLabels(service) {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// referencedRoutes names the routes a service brings itself.
func referencedRoutes(service *unstructured.Unstructured) map[string]bool {
	refs, _, _ := unstructured.NestedSlice(service.Object, "spec", "router", "route", "http", "refs")
	out := map[string]bool{}
	for _, ref := range refs {
		m, _ := ref.(map[string]any)
		if name, ok := m["name"].(string); ok {
			out[name] = true
		}
	}
	return out
}

// newRoute builds the route of a service: its own route spec, or everything
// under /<namespace>/<name>.
func (r *reconciler) newRoute(service *unstructured.Unstructured) (*gwapiv1.HTTPRoute, error) {
	yes := true
	route := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Name:      service.GetName() + "-kserve-route",
		Namespace: service.GetNamespace(),
		Labels:    RouterLabels(service.GetName()),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: service.GetAPIVersion(), Kind: service.GetKind(), Name: service.GetName(), UID: service.GetUID(),
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}}
	spec, custom, _ := unstructured.NestedMap(service.Object, "spec", "router", "route", "http", "spec")
	if !custom {
		route.Spec = r.defaultRouteSpec(service)
		return route, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &route.Spec); err != nil {
		return nil, fmt.Errorf("read route spec of %s/%s: %w", service.GetNamespace(), service.GetName(), err)
	}
	return route, nil
}

func (r *reconciler) defaultRouteSpec(service *unstructured.Unstructured) gwapiv1.HTTPRouteSpec {
	prefix := fmt.Sprintf("/%s/%s", service.GetNamespace(), service.GetName())
	root := "/"
	port := gwapiv1.PortNumber(workloadPort)
	match := gwapiv1.PathMatchPathPrefix
	return gwapiv1.HTTPRouteSpec{
		CommonRouteSpec: gwapiv1.CommonRouteSpec{ParentRefs: r.parentRefs(service)},
		Rules: []gwapiv1.HTTPRouteRule{{
			Matches: []gwapiv1.HTTPRouteMatch{{Path: &gwapiv1.HTTPPathMatch{Type: &match, Value: &prefix}}},
			Filters: []gwapiv1.HTTPRouteFilter{{
				Type: gwapiv1.HTTPRouteFilterURLRewrite,
				URLRewrite: &gwapiv1.HTTPURLRewriteFilter{Path: &gwapiv1.HTTPPathModifier{
					Type: gwapiv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &root,
				}},
			}},
			BackendRefs: []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{
				BackendObjectReference: gwapiv1.BackendObjectReference{
					Name: gwapiv1.ObjectName(workloadService(service)), Port: &port,
				},
			}}},
		}},
	}
}

// parentRefs are the gateways the service names, or the default one.
func (r *reconciler) parentRefs(service *unstructured.Unstructured) []gwapiv1.ParentReference {
	refs, _, _ := unstructured.NestedSlice(service.Object, "spec", "router", "gateway", "refs")
	var out []gwapiv1.ParentReference
	for _, ref := range refs {
		m, _ := ref.(map[string]any)
		name, _ := m["name"].(string)
		namespace, _ := m["namespace"].(string)
		out = append(out, parentRef(namespace, name))
	}
	if len(out) == 0 {
		out = append(out, parentRef(r.gateway.Namespace, r.gateway.Name))
	}
	return out
}

func parentRef(namespace, name string) gwapiv1.ParentReference {
	group, kind := gwapiv1.Group(gwapiv1.GroupName), gwapiv1.Kind("Gateway")
	ref := gwapiv1.ParentReference{Group: &group, Kind: &kind, Name: gwapiv1.ObjectName(name)}
	if namespace != "" {
		ns := gwapiv1.Namespace(namespace)
		ref.Namespace = &ns
	}
	return ref
}

func workloadService(service *unstructured.Unstructured) string {
	return service.GetName() + "-kserve-workload-svc"
}
