// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// scope holds what one reconcile knows; every fact is read once.
type scope struct {
	// model is the object, whose status is rewritten at the end.
	model *v1alpha1.MaaSModelRef
	facts modelstatus.Facts
	// tenant is the model's, the zero value when it is not known.
	tenant tenancy.Context
	// alias is what the backend publishes now, routes what it is known to be served by.
	alias  string
	routes routeSource
	// addresses and url are the backend's own.
	addresses []endpoint.Address
	url       string
	// path identifies the model in requests; empty for a backend known by the body.
	path string
}

// routeSource says how to find the routes of a backend.
type routeSource struct {
	// labels select routes, names name them; both in the model's namespace.
	labels map[string]string
	names  []string
}

func newScope(model *v1alpha1.MaaSModelRef) *scope {
	return &scope{
		model: model,
		facts: modelstatus.Facts{
			Generation:  model.Generation,
			Namespace:   model.Namespace,
			SpecMissing: model.Spec == v1alpha1.MaaSModelRefSpec{},
			Override:    model.Spec.EndpointOverride,
			Backend:     modelstatus.Backend{Kind: model.Spec.ModelRef.Kind, Name: model.Spec.ModelRef.Name},
			Previous:    model.Status.Conditions,
		},
	}
}

func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.model) }

func (s *scope) backendKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.model.Namespace, Name: s.model.Spec.ModelRef.Name}
}

// observeService takes in what an LLMInferenceService says.
func (s *scope) observeService(service kserve.Service) {
	readiness := service.Readiness()
	s.facts.Backend.State = modelstatus.BackendNotReady
	if readiness.Ready {
		s.facts.Backend.State = modelstatus.BackendReady
	}
	s.facts.Backend.Reason, s.facts.Backend.Message = readiness.Reason, readiness.Message
	s.alias, s.url = service.Alias(), service.URL()
	for _, a := range service.Addresses() {
		s.addresses = append(s.addresses, endpoint.Address{Name: a.Name, URL: a.URL})
	}
	s.routes.names = service.RouteRefs()
}
