// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	listener := func(hostname string, from gwapiv1.FromNamespaces, selector map[string]string) gwapiv1.Listener {
		l := gwapiv1.Listener{Name: "https", Port: 443}
		if hostname != "" {
			h := gwapiv1.Hostname(hostname)
			l.Hostname = &h
		}
		if from != "" {
			l.AllowedRoutes = &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{From: &from}}
			if selector != nil {
				l.AllowedRoutes.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: selector}
			}
		}
		return l
	}
	section := func(name string) *gwapiv1.SectionName { s := gwapiv1.SectionName(name); return &s }
	tests := map[string]struct {
		listener  gwapiv1.Listener
		section   *gwapiv1.SectionName
		hostnames []gwapiv1.Hostname
		want      gwapiv1.RouteConditionReason
	}{
		"all namespaces": {listener: listener("", gwapiv1.NamespacesFromAll, nil), want: gwapiv1.RouteReasonAccepted},
		"only the gateway's namespace by default": {
			listener: listener("", "", nil), want: gwapiv1.RouteReasonNotAllowedByListeners,
		},
		"selected namespace": {
			listener: listener("", gwapiv1.NamespacesFromSelector, map[string]string{"team": "a"}), want: gwapiv1.RouteReasonAccepted,
		},
		"namespace that is not selected": {
			listener: listener("", gwapiv1.NamespacesFromSelector, map[string]string{"team": "b"}),
			want:     gwapiv1.RouteReasonNotAllowedByListeners,
		},
		"named listener": {
			listener: listener("", gwapiv1.NamespacesFromAll, nil), section: section("https"), want: gwapiv1.RouteReasonAccepted,
		},
		"unknown listener": {
			listener: listener("", gwapiv1.NamespacesFromAll, nil), section: section("http"), want: gwapiv1.RouteReasonNoMatchingParent,
		},
		"same hostname in another case": {
			listener:  listener("maas.example.com", gwapiv1.NamespacesFromAll, nil),
			hostnames: []gwapiv1.Hostname{"MaaS.example.com"}, want: gwapiv1.RouteReasonAccepted,
		},
		"hostname below a wildcard": {
			listener:  listener("*.example.com", gwapiv1.NamespacesFromAll, nil),
			hostnames: []gwapiv1.Hostname{"maas.example.com"}, want: gwapiv1.RouteReasonAccepted,
		},
		"parent domain of a wildcard": {
			listener:  listener("*.example.com", gwapiv1.NamespacesFromAll, nil),
			hostnames: []gwapiv1.Hostname{"example.com"}, want: gwapiv1.RouteReasonNoMatchingListenerHostname,
		},
		"another hostname": {
			listener:  listener("maas.example.com", gwapiv1.NamespacesFromAll, nil),
			hostnames: []gwapiv1.Hostname{"other.example.com"}, want: gwapiv1.RouteReasonNoMatchingListenerHostname,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			route := &gwapiv1.HTTPRoute{Spec: gwapiv1.HTTPRouteSpec{Hostnames: tc.hostnames}}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "llm", Labels: map[string]string{"team": "a"}}}
			p := parent{
				ref: gwapiv1.ParentReference{SectionName: tc.section},
				gateway: &gwapiv1.Gateway{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ingress"},
					Spec:       gwapiv1.GatewaySpec{Listeners: []gwapiv1.Listener{tc.listener}},
				},
			}
			if got, message := admit(route, namespace, p); got != tc.want {
				t.Errorf("admit() = %s (%s), want %s", got, message, tc.want)
			}
		})
	}
}

func TestRouteStatusKeepsOtherControllers(t *testing.T) {
	t.Parallel()
	foreign := gwapiv1.RouteParentStatus{ControllerName: "example.com/other", ParentRef: gwapiv1.ParentReference{Name: "x"}}
	route := &gwapiv1.HTTPRoute{}
	route.Status.Parents = []gwapiv1.RouteParentStatus{foreign, {ControllerName: ControllerName}}
	setRouteStatus(route, &corev1.Namespace{}, nil)
	if len(route.Status.Parents) != 1 || route.Status.Parents[0].ControllerName != foreign.ControllerName {
		t.Errorf("parents = %+v, want only the other controller's", route.Status.Parents)
	}
}
