// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	processed       = "The tenant's Gateway exists, an image for payload processing is configured, and the cluster serves Istio's EnvoyFilter."
	processedByTLS  = "The same as for the other objects of payload processing, and the cluster serves Istio's DestinationRule."
	processedAlways = "The same as for the other objects of payload processing. Until the processor runs for the first time there is none."
	processedScaled = "The same as for the other objects of payload processing, and spec.payloadProcessing.autoscaling of the MaasTenantConfig is set."
)

// payloadComponents are the objects of one tenant that process the payload of requests.
func payloadComponents() []Component {
	istio := func(version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "networking.istio.io", Version: version, Kind: kind}
	}
	account, plugins, service := corev1.SchemeGroupVersion.WithKind("ServiceAccount"), corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Service")
	deployment, tls := appsv1.SchemeGroupVersion.WithKind("Deployment"), istio("v1", "DestinationRule")
	return []Component{
		row(stageRights, payload.ServiceAccountTemplate, account, values.PayloadServiceAccount{}, processed),
		row(stageRights, payload.ReaderBindingTemplate, rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), values.PayloadReaderBinding{}, processed),
		row(stageNetwork, payload.PluginsTemplate, plugins, values.PayloadPlugins{}, processed),
		row(stageNetwork, payload.NetworkTemplate, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), values.PayloadNetwork{}, processed),
		row(stageNetwork, payload.ServiceTemplate, service, values.PayloadService{}, processed),
		row(stageNetwork, payload.PreServiceTemplate, service, values.PayloadService{}, processed),
		row(stageNetwork, payload.TLSTemplate, tls, values.PayloadTLS{}, processedByTLS).optionally(tenant.DestinationRuleCRD),
		row(stageNetwork, payload.PreTLSTemplate, tls, values.PayloadTLS{}, processedByTLS).optionally(tenant.DestinationRuleCRD),
		row(stageWorkload, payload.DeploymentTemplate, deployment, values.PayloadDeployment{}, processed),
		row(stageWorkload, payload.PreDeploymentTemplate, deployment, values.PayloadDeployment{}, processed),
		row(stageWorkload, payload.AutoscalerTemplate, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), values.PayloadAutoscaler{}, processedScaled),
		row(stageRoute, payload.FilterTemplate, istio("v1alpha3", "EnvoyFilter"), values.PayloadFilter{}, processedAlways).optionally(payload.FilterCRD),
	}
}
