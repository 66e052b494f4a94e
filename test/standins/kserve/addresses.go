// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

const (
	nameExternal     = "gateway-external"
	nameInternal     = "gateway-internal"
	nameModelRouting = "gateway-external-model-routing"
	clusterDomain    = ".svc.cluster.local"
)

// address is one entry of status.addresses.
type address struct {
	Name   string      `json:"name,omitempty"`
	URL    string      `json:"url"`
	Models []modelName `json:"models,omitempty"`
}

type modelName struct {
	Name string `json:"name"`
}

// addresses lists the URLs of a service through its routes, sorted by URL.
func (r *reconciler) addresses(ctx context.Context, service *unstructured.Unstructured, routes []gwapiv1.HTTPRoute) ([]address, error) {
	if len(routes) == 0 {
		return []address{{URL: fmt.Sprintf("https://%s.%s%s", workloadService(service), service.GetNamespace(), clusterDomain)}}, nil
	}
	var out []address
	for i := range routes {
		origins, err := r.origins(ctx, &routes[i])
		if err != nil {
			return nil, err
		}
		for _, origin := range origins {
			out = append(out, address{Name: addressName(origin), URL: origin + commonPath(&routes[i])})
			if r.modelRouting && addressName(origin) == nameExternal {
				out = append(out, address{Name: nameModelRouting, URL: origin + "/", Models: []modelName{{
					Name: fmt.Sprintf("publishers/%s/models/%s", service.GetNamespace(), service.GetName()),
				}}})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b address) int { return cmp.Compare(a.URL, b.URL) })
	return out, nil
}

// origins are the scheme and host combinations under which a route is reachable.
func (r *reconciler) origins(ctx context.Context, route *gwapiv1.HTTPRoute) ([]string, error) {
	var out []string
	for _, ref := range route.Spec.ParentRefs {
		name := types.NamespacedName{Namespace: route.Namespace, Name: string(ref.Name)}
		if ref.Namespace != nil {
			name.Namespace = string(*ref.Namespace)
		}
		gateway := &gwapiv1.Gateway{}
		if err := r.client.Get(ctx, name, gateway); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return nil, fmt.Errorf("get gateway %s: %w", name, err)
		}
		for _, l := range gateway.Spec.Listeners {
			if ref.SectionName != nil && *ref.SectionName != l.Name {
				continue
			}
			for _, host := range hosts(route, gateway, l) {
				if origin := scheme(l) + "://" + host; !slices.Contains(out, origin) {
					out = append(out, origin)
				}
			}
		}
	}
	return out, nil
}

func scheme(l gwapiv1.Listener) string {
	if l.Protocol == gwapiv1.HTTPSProtocolType {
		return "https"
	}
	return "http"
}

// hosts prefers the hostnames of the route, then the listener's, then the
// gateway's addresses. Wildcards are nobody's address.
func hosts(route *gwapiv1.HTTPRoute, gateway *gwapiv1.Gateway, l gwapiv1.Listener) []string {
	var out []string
	for _, h := range route.Spec.Hostnames {
		out = append(out, string(h))
	}
	if len(out) == 0 && l.Hostname != nil {
		out = append(out, string(*l.Hostname))
	}
	out = slices.DeleteFunc(out, func(h string) bool { return h == "" || strings.HasPrefix(h, "*") })
	if len(out) > 0 {
		return out
	}
	for _, a := range gateway.Status.Addresses {
		out = append(out, a.Value)
	}
	return out
}

func addressName(origin string) string {
	if strings.HasSuffix(origin, clusterDomain) {
		return nameInternal
	}
	return nameExternal
}

// commonPath is the shortest path prefix of a route.
func commonPath(route *gwapiv1.HTTPRoute) string {
	path := ""
	for _, rule := range route.Spec.Rules {
		for _, m := range rule.Matches {
			if m.Path != nil && m.Path.Value != nil && (path == "" || len(*m.Path.Value) < len(path)) {
				path = *m.Path.Value
			}
		}
	}
	return path
}

// statusCondition has no observedGeneration: KServe's conditions carry none,
// and the field would be pruned.
type statusCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

func setStatus(service *unstructured.Unstructured, conditions []metav1.Condition, addresses []address) error {
	typed := struct {
		ObservedGeneration int64             `json:"observedGeneration,omitempty"`
		URL                string            `json:"url,omitempty"`
		Addresses          []address         `json:"addresses,omitempty"`
		Conditions         []statusCondition `json:"conditions,omitempty"`
	}{ObservedGeneration: service.GetGeneration(), Addresses: addresses}
	for _, a := range addresses {
		if a.Name == nameExternal && typed.URL == "" {
			typed.URL = a.URL
		}
	}
	for _, c := range conditions {
		typed.Conditions = append(typed.Conditions, statusCondition{
			Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return status.Set(service, &typed)
}
