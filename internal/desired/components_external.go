// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	externalModel  = "There is an ExternalModel of the group maas.opendatahub.io whose provider's host is accepted, and none of its name in the group inference.opendatahub.io has a route."
	externalHost   = "The same, and the ExternalModel is the oldest of the provider's host."
	externalSecure = "The same, and an ExternalModel of the host speaks TLS."
)

// externalComponents are the objects of one ExternalModel.
func externalComponents() []Component {
	istio := schema.GroupVersion{Group: "networking.istio.io", Version: "v1"}
	route := schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
	return []Component{
		row(stageNetwork, external.ServiceTemplate, corev1.SchemeGroupVersion.WithKind("Service"), values.ExternalService{}, externalModel),
		row(stageNetwork, external.ServiceEntryTemplate, istio.WithKind("ServiceEntry"), values.ExternalServiceEntry{}, externalHost).optionally(external.ServiceEntryCRD),
		row(stageNetwork, external.DestinationRuleTemplate, istio.WithKind("DestinationRule"), values.ExternalDestinationRule{}, externalSecure).optionally(external.DestinationRuleCRD),
		row(stageRoute, external.RouteTemplate, route, values.ExternalRoute{}, externalModel).requires(external.RouteCRD),
	}
}
