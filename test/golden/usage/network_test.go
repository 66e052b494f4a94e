// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/test/netpol"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// TestWhoReachesTheProxy has the pods of Perses labelled as its operator does: their name
// is that of the Perses object, which is data-science-perses on OpenShift AI.
func TestWhoReachesTheProxy(t *testing.T) {
	t.Parallel()
	const monitoring = "redhat-ods-monitoring"
	perses := map[string]string{
		"app.kubernetes.io/name": "data-science-perses", "app.kubernetes.io/instance": "data-science-perses", "app.kubernetes.io/part-of": "perses-operator",
		"app.kubernetes.io/created-by": "controller-manager", "app.kubernetes.io/managed-by": "perses-operator",
	}
	proxy := netpol.End{Namespace: monitoring, Labels: map[string]string{"app": "usage-tenancy-proxy"}}
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		objects, err := parts.Engine(t).RenderAll(build(t, "installation")["out."+on+".yaml"])
		if err != nil {
			t.Fatalf("RenderAll() error = %v", err)
		}
		var cluster netpol.Cluster
		for _, object := range objects {
			var policy networkingv1.NetworkPolicy
			if object.GetKind() != "NetworkPolicy" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy); err != nil {
				t.Fatal(err)
			}
			cluster.Policies = append(cluster.Policies, policy)
		}
		for name, tc := range map[string]struct {
			from netpol.End
			port int32
			want bool
		}{
			"Perses":                      {netpol.End{Namespace: monitoring, Labels: perses}, 8443, true},
			"Perses of another namespace": {netpol.End{Namespace: "perses", Labels: perses}, 8443, true},
			"Perses, another port":        {netpol.End{Namespace: monitoring, Labels: perses}, 8080, false},
			"somebody of the namespace":   {netpol.End{Namespace: monitoring, Labels: map[string]string{"app.kubernetes.io/name": "perses"}}, 8443, false},
		} {
			if got, err := cluster.Allowed(tc.from, proxy, netpol.TCP(tc.port)); err != nil || got != tc.want {
				t.Errorf("%s: %s reaches the proxy: %v, error %v, want %v", on, name, got, err, tc.want)
			}
		}
	}
}
