// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"maps"
	"strconv"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Ids of the templates.
const (
	ServiceAccountTemplate render.ID = "payload/serviceaccount-payload-processing"
	ReaderBindingTemplate  render.ID = "payload/clusterrolebinding-payload-processing-reader"
	PluginsTemplate        render.ID = "payload/configmap-payload-processing-plugins"
	DeploymentTemplate     render.ID = "payload/deployment-payload-processing"
	PreDeploymentTemplate  render.ID = "payload/deployment-payload-pre-processing"
	ServiceTemplate        render.ID = "payload/service-payload-processing"
	PreServiceTemplate     render.ID = "payload/service-payload-pre-processing"
	TLSTemplate            render.ID = "payload/destinationrule-payload-processing"
	PreTLSTemplate         render.ID = "payload/destinationrule-payload-pre-processing"
	FilterTemplate         render.ID = "payload/envoyfilter-payload-processing"
	NetworkTemplate        render.ID = "payload/networkpolicy-payload-processing"
	AutoscalerTemplate     render.ID = "payload/horizontalpodautoscaler-payload-processing"
)

// Image is the key of the processors' image. Where it is not configured there is no
// payload processing.
const Image = "payload-processing"

// FilterCRD is the CustomResourceDefinition without which no gateway asks a processor.
const FilterCRD = "envoyfilters.networking.istio.io"

// port is that of both processors.
const port = 9004

// Settings are what the manager was started with.
type Settings struct {
	// OpenShift tells the platform.
	OpenShift bool
	// InfraNamespace is where maas-api and its route are.
	InfraNamespace string
	// MonitoringNamespace is where the platform's monitoring is; may be empty.
	MonitoringNamespace string
	// RunAsUser is the user of the pods; empty where the platform chooses one.
	RunAsUser []int64
}

// Input is everything the objects depend on.
type Input struct {
	// Config is the tenant's MaasTenantConfig.
	Config *v1alpha1.MaasTenantConfig
	// Tenant is the tenant, with its Gateway, which exists.
	Tenant tenancy.Context
	// PluginsManaged holds when the live ConfigMap of the plugins is annotated as
	// managed.
	PluginsManaged bool
	// Labels are those of the tenant's objects, without what tells them apart.
	Labels map[string]string
	// Settings are the manager's.
	Settings Settings
}

// Output is what should exist.
type Output struct {
	// Requests are all objects but Filter.
	Requests []render.Request
	// Filter has the gateway ask the processors. Until they run for the first time it
	// must not exist.
	Filter render.Request
	// Warnings are sentences about settings that were not heeded as they are.
	Warnings []string
}

// builder holds what all objects are made from.
type builder struct{ Input }

// Build computes the objects of a tenant.
func Build(in Input) Output {
	b := builder{in}
	size, warnings := sizeOf(in.Config)
	requests := []render.Request{b.account(), b.binding(), b.plugins(), b.network()}
	for _, p := range b.processors(size) {
		requests = append(requests, b.deployment(p), b.service(p), b.tls(p))
	}
	if size.autoscaled {
		requests = append(requests, b.autoscaler(size))
	}
	return Output{Requests: requests, Filter: b.filter(), Warnings: warnings}
}

// processor is one of the two.
type processor struct {
	// app is the same for all tenants, name that of the tenant's objects.
	app, name string
	// The templates of its objects.
	deployment, service, tls render.ID
	replicas                 []int64
	resources                values.Resources
}

func (b builder) processors(s size) []processor {
	return []processor{
		{
			app: "payload-processing", name: b.Tenant.PayloadProcessing(),
			deployment: DeploymentTemplate, service: ServiceTemplate, tls: TLSTemplate, replicas: s.static(),
			resources: values.Resources{RequestCPU: "50m", RequestMemory: "64Mi", LimitCPU: "500m", LimitMemory: "256Mi"},
		},
		{
			app: "payload-pre-processing", name: b.Tenant.PayloadPreProcessing(),
			deployment: PreDeploymentTemplate, service: PreServiceTemplate, tls: PreTLSTemplate, replicas: []int64{defaultReplicas},
			resources: values.Resources{RequestCPU: "25m", RequestMemory: "32Mi", LimitCPU: "200m", LimitMemory: "128Mi"},
		},
	}
}

func (b builder) account() render.Request {
	meta := b.meta(b.Tenant.PayloadProcessing())
	return request(ServiceAccountTemplate, meta, values.PayloadServiceAccount{Meta: meta})
}

func (b builder) binding() render.Request {
	meta := b.meta(b.Tenant.PayloadReader())
	account := values.ServiceAccountRef{Name: b.Tenant.PayloadProcessing(), Namespace: meta.Namespace}
	meta.Namespace = ""
	return request(ReaderBindingTemplate, meta, values.PayloadReaderBinding{Meta: meta, Role: tenancy.PayloadReaderRole, ServiceAccount: account})
}

// plugins are written once and then left to the administrator, who may hand them back.
func (b builder) plugins() render.Request {
	meta := b.meta(b.Tenant.PayloadPlugins())
	meta.Annotations = map[string]string{v1alpha1.AnnotationManaged: strconv.FormatBool(b.PluginsManaged)}
	return request(PluginsTemplate, meta, values.PayloadPlugins{Meta: meta})
}

func (b builder) deployment(p processor) render.Request {
	meta := b.meta(p.name)
	return request(p.deployment, meta, values.PayloadDeployment{
		Meta: meta, Replicas: p.replicas, Selector: b.selector(p), PodLabels: b.podLabels(p),
		ServiceAccount: b.Tenant.PayloadProcessing(), RunAsUser: b.Settings.RunAsUser, Plugins: b.Tenant.PayloadPlugins(),
		Tenant:    values.PayloadTenant{GatewayName: b.Tenant.Gateway.Name, GatewayNamespace: b.Tenant.Gateway.Namespace, Namespace: b.Config.Namespace},
		Resources: p.resources,
	})
}

func (b builder) service(p processor) render.Request {
	meta := b.meta(p.name)
	return request(p.service, meta, values.PayloadService{Meta: meta, Selector: instance(p), Port: port})
}

func (b builder) tls(p processor) render.Request {
	meta := b.meta(p.name)
	return request(p.tls, meta, values.PayloadTLS{Meta: meta, Host: b.host(p.name)})
}

// host is the full name of a Service.
func (b builder) host(service string) string {
	return service + "." + b.Tenant.Gateway.Namespace + ".svc.cluster.local"
}

// filter tells the gateway whom to ask. Kuadrant's filter has one name where Kuadrant
// brings it as a WasmPlugin, and another where it does as an EnvoyFilter.
func (b builder) filter() render.Request {
	meta, gateway := b.meta(b.Tenant.PayloadProcessing()), b.Tenant.Gateway
	return request(FilterTemplate, meta, values.PayloadFilter{
		Meta: meta, Gateway: gateway.Name,
		Anchors:       []string{"extensions.istio.io/wasmplugin/" + gateway.Namespace + ".kuadrant-" + gateway.Name, "envoy.filters.http.wasm"},
		PreProcessing: b.host(b.Tenant.PayloadPreProcessing()), Processing: b.host(b.Tenant.PayloadProcessing()), Port: port,
		Unprocessed: b.unprocessed(),
	})
}

// unprocessed are the rules of the route to maas-api, as Istio names them: by their
// place.
func (b builder) unprocessed() []string {
	route := b.Settings.InfraNamespace + "." + b.Tenant.MaaSAPIRoute() + "."
	names := make([]string, 0, len(publicpath.Paths()))
	for i := range publicpath.Paths() {
		names = append(names, route+strconv.Itoa(i))
	}
	return names
}

func (b builder) network() render.Request {
	meta := b.meta(b.Tenant.PayloadProcessing())
	return request(NetworkTemplate, meta, values.PayloadNetwork{
		Meta: meta, Instances: []string{b.Tenant.PayloadPreProcessing(), b.Tenant.PayloadProcessing()},
		GatewayNamespace: meta.Namespace, MonitoringNamespaces: b.Settings.monitoring(), Port: port,
	})
}

// monitoring are the namespaces that metrics are read from.
func (s Settings) monitoring() []string {
	var namespaces []string
	if s.OpenShift {
		namespaces = []string{"openshift-monitoring", "openshift-user-workload-monitoring"}
	}
	if s.MonitoringNamespace != "" {
		namespaces = append(namespaces, s.MonitoringNamespace)
	}
	return namespaces
}

func (b builder) autoscaler(s size) render.Request {
	meta := b.meta(b.Tenant.PayloadProcessing())
	return request(AutoscalerTemplate, meta, values.PayloadAutoscaler{
		Meta: meta, Deployment: meta.Name, MinReplicas: s.replicas, MaxReplicas: s.maxReplicas, CPU: s.cpu, Memory: s.memory,
	})
}

// meta is the metadata of an object in the Gateway's namespace.
func (b builder) meta(name string) values.Meta {
	labels := make(map[string]string, len(b.Labels)+2)
	maps.Copy(labels, b.Labels)
	labels[v1alpha1.LabelName], labels[v1alpha1.LabelComponent] = v1alpha1.NamePayloadProcessing, v1alpha1.NamePayloadProcessing
	return values.Meta{Namespace: b.Tenant.Gateway.Namespace, Name: name, Labels: labels}
}

func request(id render.ID, meta values.Meta, v any) render.Request {
	return render.Request{ID: id, Namespace: meta.Namespace, Name: meta.Name, Values: v}
}
