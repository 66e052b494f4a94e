// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// admit decides whether a gateway takes a route.
func admit(route *gwapiv1.HTTPRoute, namespace *corev1.Namespace, p parent) (gwapiv1.RouteConditionReason, string) {
	named, allowed := false, false
	for _, l := range p.gateway.Spec.Listeners {
		if (p.ref.SectionName != nil && *p.ref.SectionName != l.Name) || (p.ref.Port != nil && *p.ref.Port != l.Port) {
			continue
		}
		named = true
		if !admitsNamespace(l, p.gateway.Namespace, namespace) {
			continue
		}
		allowed = true
		if hostnamesIntersect(l.Hostname, route.Spec.Hostnames) {
			return gwapiv1.RouteReasonAccepted, "Route was valid"
		}
	}
	switch {
	case !named:
		return gwapiv1.RouteReasonNoMatchingParent, "No listener of the gateway matches the section name and port of this parent"
	case !allowed:
		return gwapiv1.RouteReasonNotAllowedByListeners, "No matching listener allows routes of this namespace"
	default:
		return gwapiv1.RouteReasonNoMatchingListenerHostname, "No hostname of the route matches a listener"
	}
}

func admitsNamespace(l gwapiv1.Listener, gatewayNamespace string, namespace *corev1.Namespace) bool {
	from := gwapiv1.NamespacesFromSame
	var selector *metav1.LabelSelector
	if l.AllowedRoutes != nil && l.AllowedRoutes.Namespaces != nil {
		if l.AllowedRoutes.Namespaces.From != nil {
			from = *l.AllowedRoutes.Namespaces.From
		}
		selector = l.AllowedRoutes.Namespaces.Selector
	}
	switch from {
	case gwapiv1.NamespacesFromAll:
		return true
	case gwapiv1.NamespacesFromSelector:
		s, err := metav1.LabelSelectorAsSelector(selector)
		return err == nil && s.Matches(labels.Set(namespace.Labels))
	default:
		return namespace.Name == gatewayNamespace
	}
}

func hostnamesIntersect(listener *gwapiv1.Hostname, hostnames []gwapiv1.Hostname) bool {
	if listener == nil || *listener == "" || len(hostnames) == 0 {
		return true
	}
	for _, h := range hostnames {
		if covers(string(*listener), string(h)) || covers(string(h), string(*listener)) {
			return true
		}
	}
	return false
}

// covers tells whether a hostname equals another or, as a wildcard, contains it.
func covers(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(host)
	if suffix, wildcard := strings.CutPrefix(pattern, "*"); wildcard {
		return strings.HasSuffix(host, suffix) && host != suffix
	}
	return pattern == host
}
