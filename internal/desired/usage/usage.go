// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// component is the value of the component label.
const component = "usage-logs"

// nonRoot is the user of the proxy where the platform chooses none.
const nonRoot = 65532

// Input is everything the shared objects depend on.
type Input struct {
	// Platform is [platform.OpenShift] or [platform.Kubernetes].
	Platform string
	// GatewayNamespace is where the Gateways are.
	GatewayNamespace string
	// MonitoringNamespace is where the objects are; it exists.
	MonitoringNamespace string
	// CollectorServed holds when the cluster serves collectors. Without, nobody is
	// granted the collector's rights: anybody who may make its ServiceAccount would
	// have them.
	CollectorServed bool
}

// Build computes the shared objects of usage logging, which is switched on. An error
// means that the input is broken, which no user can cause.
func Build(in Input) ([]render.Request, error) {
	if in.Platform != platform.OpenShift && in.Platform != platform.Kubernetes {
		return nil, fmt.Errorf("choose objects of usage logging: platform is %q, want %q or %q", in.Platform, platform.OpenShift, platform.Kubernetes)
	}
	if in.MonitoringNamespace == "" || in.GatewayNamespace == "" {
		return nil, errors.New("choose objects of usage logging: the namespace of monitoring or of Gateways is missing")
	}
	return slices.Concat(in.collector(), in.proxyRights(), in.proxy(), in.views()), nil
}

func (in Input) openShift() bool { return in.Platform == platform.OpenShift }

// meta returns the metadata of a shared object in the namespace of monitoring.
func (in Input) meta(name string) values.Meta {
	m := cluster(name)
	m.Namespace = in.MonitoringNamespace
	return m
}

// cluster returns the metadata of a shared object without a namespace.
func cluster(name string) values.Meta {
	labels := map[string]string{
		v1alpha1.LabelManagedBy:        v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:           v1alpha1.PartOfMaaS,
		v1alpha1.LabelName:             component,
		v1alpha1.LabelComponent:        component,
		v1alpha1.LabelModelsAsAService: "true",
	}
	maps.Copy(labels, tenancy.SharedTracking())
	return values.Meta{Name: name, Labels: labels}
}

func request(id render.ID, m values.Meta, v any) render.Request {
	return render.Request{ID: id, Namespace: m.Namespace, Name: m.Name, Values: v}
}

// upstream is the address of the log store.
func (in Input) upstream() string {
	return fmt.Sprintf("https://%s.%s.svc:%d%s", logStoreGateway, in.MonitoringNamespace, logStorePort, logStorePath)
}

// authority asks OpenShift for the authority of serving certificates. Elsewhere an
// administrator provides the ConfigMap.
func (in Input) authority(id render.ID, name string) []render.Request {
	if !in.openShift() {
		return nil
	}
	m := in.meta(name)
	m.Annotations = map[string]string{injectAuthority: "true"}
	return []render.Request{request(id, m, values.UsageAuthority{Meta: m})}
}

// collectorPods are the labels that the collector's operator puts on its Pods.
func collectorPods() map[string]string {
	return map[string]string{v1alpha1.LabelName: collectorRuntime, v1alpha1.LabelComponent: "opentelemetry-collector"}
}

func (in Input) dns() values.EgressDefaults { return platform.DNS(in.Platform) }

func (in Input) collector() []render.Request {
	m, ingress, egress := in.meta(collector), in.meta("usage-logs-collector-allow-gateway"), in.meta("usage-logs-collector-egress-restrict")
	role := cluster("usage-collector-application-logs-write")
	requests := append(in.authority(CollectorAuthorityTemplate, collectorAuthority),
		request(CollectorTemplate, m, values.UsageCollector{
			Meta: m, Replicas: 2, Port: collectorPort, LogNamespace: in.MonitoringNamespace, Endpoint: in.upstream() + "/otlp",
			Resources: values.Resources{RequestCPU: "100m", RequestMemory: "256Mi", LimitCPU: "1", LimitMemory: "256Mi"},
			Authority: values.UsageCA{ConfigMap: collectorAuthority, Key: serviceCAKey},
			Quoted:    Quoted(), Numbers: Numbers(), Streams: Streams(),
		}),
		request(CollectorIngressTemplate, ingress, values.UsageIngress{
			Meta: ingress, Pods: collectorPods(), Namespaces: []string{in.GatewayNamespace}, Port: collectorPort,
		}),
		request(CollectorEgressTemplate, egress, values.UsageEgress{
			Meta: egress, Pods: collectorPods(), DNS: in.dns(), LogStores: []string{logStore}, LogStorePort: logStorePort,
		}),
		request(CollectorRoleTemplate, role, values.UsageRole{Meta: role}),
	)
	if in.CollectorServed {
		requests = append(requests, request(CollectorBindingTemplate, role, values.UsageBinding{
			Meta: role, Role: role.Name, ServiceAccount: in.account(collectorRuntime),
		}))
	}
	return requests
}

func (in Input) account(name string) values.ServiceAccountRef {
	return values.ServiceAccountRef{Name: name, Namespace: in.MonitoringNamespace}
}

// proxyRights are those of the proxy: to find out who asks, and to read what the log
// store has of this namespace.
func (in Input) proxyRights() []render.Request {
	account := in.meta(proxyIdentity)
	pods, logs, review := "usage-tenancy-proxy-pods-log-read", "usage-tenancy-proxy-application-logs-read", "usage-tenancy-proxy-tokenreview"
	bind := func(id render.ID, m values.Meta) render.Request {
		return request(id, m, values.UsageBinding{Meta: m, Role: m.Name, ServiceAccount: in.account(proxyIdentity)})
	}
	return []render.Request{
		request(ProxyAccountTemplate, account, values.UsageServiceAccount{Meta: account}),
		request(ProxyPodLogRoleTemplate, cluster(pods), values.UsageRole{Meta: cluster(pods)}),
		bind(ProxyPodLogBindingTemplate, in.meta(pods)),
		request(ProxyLogsRoleTemplate, cluster(logs), values.UsageRole{Meta: cluster(logs)}),
		bind(ProxyLogsBindingTemplate, in.meta(logs)),
		request(ProxyReviewRoleTemplate, cluster(review), values.UsageReviewRole{Meta: cluster(review), ReadsTLSProfile: in.openShift()}),
		bind(ProxyReviewBindingTemplate, cluster(review)),
	}
}

// proxyPods is the selector of the proxy's Deployment, which never changes.
func proxyPods() map[string]string { return map[string]string{"app": proxyIdentity} }

func (in Input) proxy() []render.Request {
	m, service, certificate := in.meta(proxy), in.meta(proxy), proxy+"-tls"
	labels := maps.Clone(proxyPods())
	labels[v1alpha1.LabelName], labels[v1alpha1.LabelPartOf] = proxyIdentity, v1alpha1.PartOfMaaS
	deployment := values.UsageProxyDeployment{
		Meta: m, Replicas: 1, Selector: proxyPods(), PodLabels: labels, ServiceAccount: proxyIdentity, Port: proxyPort, Upstream: in.upstream(),
		Resources:          values.Resources{RequestCPU: "50m", RequestMemory: "128Mi", LimitCPU: "200m", LimitMemory: "256Mi"},
		ServingCertificate: certificate, Authority: values.UsageCA{ConfigMap: proxyAuthority, Key: serviceCAKey},
	}
	ingress, egress := in.meta("usage-tenancy-proxy-allow-perses"), in.meta("usage-tenancy-proxy-egress-restrict")
	admitted := values.UsageIngress{Meta: ingress, Pods: proxyPods(), Port: proxyPort}
	if in.openShift() {
		service.Annotations = map[string]string{servingCert: certificate}
		admitted.HostNetwork = map[string]string{"policy-group.network.openshift.io/host-network": ""}
	} else {
		deployment.RunAsUser = []int64{nonRoot}
	}
	return append(in.authority(ProxyAuthorityTemplate, proxyAuthority),
		request(ProxyIngressTemplate, ingress, admitted),
		request(ProxyEgressTemplate, egress, values.UsageEgress{
			Meta: egress, Pods: proxyPods(), DNS: in.dns(), LogStores: []string{platformLogStore, logStore}, LogStorePort: logStorePort,
		}),
		request(ProxyDeploymentTemplate, m, deployment),
		request(ProxyServiceTemplate, service, values.UsageProxyService{Meta: service, Selector: proxyPods(), Port: proxyPort}),
	)
}
