// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	listener := func(hostname string, protocol gwapiv1.ProtocolType) gwapiv1.Listener {
		l := gwapiv1.Listener{Name: "l", Protocol: protocol}
		if hostname != "" {
			l.Hostname = new(gwapiv1.Hostname(hostname))
		}
		return l
	}
	tests := map[string]struct {
		listener     gwapiv1.Listener
		hostnames    []gwapiv1.Hostname
		noRoute      bool
		modelRouting bool
		want         []address
	}{
		"hostname of the route": {
			listener:  listener("*.example.com", gwapiv1.HTTPSProtocolType),
			hostnames: []gwapiv1.Hostname{"maas.example.com"},
			want:      []address{{Name: "gateway-external", URL: "https://maas.example.com/llm/model"}},
		},
		"hostname of the listener": {
			listener: listener("maas.example.com", gwapiv1.HTTPProtocolType),
			want:     []address{{Name: "gateway-external", URL: "http://maas.example.com/llm/model"}},
		},
		"address of the gateway instead of a wildcard": {
			listener: listener("*.example.com", gwapiv1.HTTPSProtocolType),
			want:     []address{{Name: "gateway-internal", URL: "https://gateway.ingress.svc.cluster.local/llm/model"}},
		},
		"routing by the model in the body": {
			listener:     listener("maas.example.com", gwapiv1.HTTPSProtocolType),
			modelRouting: true,
			want: []address{
				{
					Name: "gateway-external-model-routing", URL: "https://maas.example.com/",
					Models: []modelName{{Name: "publishers/llm/models/model"}},
				},
				{Name: "gateway-external", URL: "https://maas.example.com/llm/model"},
			},
		},
		"no route": {
			noRoute: true,
			want:    []address{{URL: "https://model-kserve-workload-svc.llm.svc.cluster.local"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := gwapiv1.Install(scheme); err != nil {
				t.Fatal(err)
			}
			gateway := &gwapiv1.Gateway{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ingress", Name: "gateway"},
				Spec:       gwapiv1.GatewaySpec{Listeners: []gwapiv1.Listener{tc.listener}},
				Status:     gwapiv1.GatewayStatus{Addresses: []gwapiv1.GatewayStatusAddress{{Value: "gateway.ingress.svc.cluster.local"}}},
			}
			r := &reconciler{
				client:       fakecluster.Holding(scheme, gateway).Build(),
				modelRouting: tc.modelRouting,
			}
			service := newService()
			service.SetNamespace("llm")
			service.SetName("model")
			var routes []gwapiv1.HTTPRoute
			if !tc.noRoute {
				r.gateway.Namespace, r.gateway.Name = gateway.Namespace, gateway.Name
				route, err := r.newRoute(service)
				if err != nil {
					t.Fatal(err)
				}
				route.Spec.Hostnames = tc.hostnames
				routes = append(routes, *route)
			}
			got, err := r.addresses(t.Context(), service, routes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}
