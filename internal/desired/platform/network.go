// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// metricsPort is the port of maas-api's metrics.
const metricsPort = 9090

// apiPods are the labels of the Pods of maas-api, of all tenants, and of no job.
func apiPods() map[string]string { return tenancy.PodLabels(v1alpha1.ComponentAPI) }

// ingress are the policies that say which Pods of other namespaces reach maas-api.
// As soon as there is one, all others do not.
func ingress(in Input) []render.Request {
	authorino := in.AuthorinoNamespaces
	if len(authorino) == 0 {
		authorino = DefaultAuthorinoNamespaces()
	}
	authorino = slices.Compact(slices.Sorted(slices.Values(authorino)))
	admit := func(id render.ID, name string, port int64, namespaces ...string) render.Request {
		m := meta(name, in.InfraNamespace, v1alpha1.ComponentAPI)
		return request(id, m, values.MaaSAPIIngress{Meta: m, Pods: apiPods(), Namespaces: namespaces, Port: port})
	}
	requests := []render.Request{
		admit(AllowGatewayTemplate, "maas-api-allow-gateway", tenancy.MaaSAPIPort, in.GatewayNamespace),
		admit(AllowAuthorinoTemplate, "maas-authorino-allow", tenancy.MaaSAPIPort, authorino...),
		admit(AllowControllerTemplate, "maas-api-allow-deployment-ns", tenancy.MaaSAPIPort, in.ControllerNamespace),
	}
	if in.Platform == OpenShift && in.MonitoringNamespace != "" {
		requests = append(requests, admit(AllowMonitoringTemplate, "maas-api-allow-monitoring", metricsPort, in.MonitoringNamespace))
	}
	return requests
}

// cleanup are the policies of the jobs about keys.
func cleanup(in Input) []render.Request {
	row := func(id render.ID, name string, pods, peers map[string]string) render.Request {
		m := meta(name, in.InfraNamespace, tenancy.ComponentKeyCleanup)
		return request(id, m, values.KeyCleanupNetwork{Meta: m, Pods: pods, PeerPods: peers, Port: tenancy.MaaSAPIPort})
	}
	return []render.Request{
		row(AllowCleanupTemplate, "maas-api-allow-cleanup", apiPods(), tenancy.KeyCleanupPodLabels()),
		row(RestrictCleanupTemplate, "maas-api-cleanup-restrict", tenancy.KeyCleanupPodLabels(), apiPods()),
	}
}

// egress is the policy that says where maas-api may connect to. It selects Pods with
// the label of an instance, so that the cleanup Pods, to which maas-api-cleanup-restrict
// leaves less, are not among them: policies only ever add.
func egress(in Input) ([]render.Request, []string, error) {
	var spec v1alpha1.ConfigSpec
	if in.Config != nil {
		spec = in.Config.Spec
	}
	if spec.MaasAPIEgressNetworkPolicy == v1alpha1.EgressNetworkPolicyDisabled {
		if len(spec.NetworkPolicyEgressRules)+len(spec.NetworkPolicyAdditionalEgressRules) > 0 {
			return nil, []string{warningRulesWithoutPolicy}, nil
		}
		return nil, nil, nil
	}
	m := meta("maas-api-egress-restrict", in.InfraNamespace, v1alpha1.ComponentAPI)
	v := values.MaaSAPIEgress{Meta: m, Pods: map[string]string{v1alpha1.LabelName: v1alpha1.NameMaaSAPI, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}}
	if len(spec.NetworkPolicyEgressRules) == 0 {
		v.Defaults = []values.EgressDefaults{dns(in.Platform)}
	}
	rules, err := ruleText(slices.Concat(spec.NetworkPolicyEgressRules, spec.NetworkPolicyAdditionalEgressRules))
	if err != nil {
		return nil, nil, err
	}
	v.Rules = rules
	return []render.Request{request(RestrictEgressTemplate, m, v)}, nil, nil
}

func dns(platform string) values.EgressDefaults {
	if platform == OpenShift {
		return values.EgressDefaults{
			DNSNamespace: "openshift-dns",
			DNSPods:      map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"},
			DNSPorts:     []int64{53, 5353},
		}
	}
	return values.EgressDefaults{DNSNamespace: "kube-system", DNSPods: map[string]string{"k8s-app": "kube-dns"}, DNSPorts: []int64{53}}
}

// ruleText returns rules as JSON; no rules are no text.
func ruleText(rules []networkingv1.NetworkPolicyEgressRule) (values.JSON, error) {
	if len(rules) == 0 {
		return "", nil
	}
	text, err := json.Marshal(rules)
	if err != nil {
		return "", fmt.Errorf("write egress rules: %w", err)
	}
	return values.JSON(text), nil
}
