// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"net/http"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// Messages of the subscription listings.
const (
	listFailed     = "Failed to list subscriptions"
	modelIDMissing = "model-id is required"

	// pathModelID is the part of the path that names a MaaSModelRef.
	pathModelID = "modelID"
)

// Subscriptions answers GET /v1/subscriptions and GET
// /v1/model/{model-id}/subscriptions: what a caller may choose from. A caller with an
// API key sees the one subscription of the key, others see all of theirs whatever
// X-MaaS-Subscription says.
type Subscriptions struct {
	// Source has the tenant's objects.
	Source subscription.Source
}

// Routes are the two routes.
func (s Subscriptions) Routes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/v1/subscriptions", Audience: httpapi.Public,
			Handler: httpapi.Optional(s.all), Family: httpapi.FamilyTyped, NoStore: true,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/model/{" + pathModelID + "}/subscriptions", Audience: httpapi.Public,
			Handler: httpapi.Optional(s.ofModel), Family: httpapi.FamilyTyped, NoStore: true,
		},
	}
}

func (s Subscriptions) all(w http.ResponseWriter, r *http.Request, identity *httpapi.Identity) {
	s.list(w, r, identity, (*subscription.Snapshot).List)
}

func (s Subscriptions) ofModel(w http.ResponseWriter, r *http.Request, identity *httpapi.Identity) {
	model := r.PathValue(pathModelID)
	if model == "" {
		httpapi.WriteTyped(w, http.StatusBadRequest, modelIDMissing, httpapi.ClassInvalidRequest)
		return
	}
	s.list(w, r, identity, func(snapshot *subscription.Snapshot, c entitlement.Caller, requested string) ([]subscription.Item, error) {
		return snapshot.ListOfModel(c, requested, model)
	})
}

// lister is one of the listings of a snapshot.
type lister func(*subscription.Snapshot, entitlement.Caller, string) ([]subscription.Item, error)

func (s Subscriptions) list(w http.ResponseWriter, r *http.Request, identity *httpapi.Identity, list lister) {
	w.Header().Set("Cache-Control", "no-store")
	if identity == nil {
		httpapi.WriteJSON(w, http.StatusOK, []subscription.Item{})
		return
	}
	snapshot := s.Source.Snapshot()
	if snapshot == nil {
		httpapi.WriteTyped(w, http.StatusInternalServerError, listFailed, httpapi.ClassServer)
		return
	}
	caller, err := callerOf(r, identity)
	if err != nil {
		httpapi.WriteTyped(w, http.StatusForbidden, unboundKey, httpapi.ClassPermission)
		return
	}
	items, err := list(snapshot, caller, "")
	if err != nil {
		// Only an API key names a subscription here. One that is no longer there, or
		// does not serve, leaves nothing to choose from.
		items = []subscription.Item{}
	}
	httpapi.WriteJSON(w, http.StatusOK, items)
}

// callerOf is who asks: an API key gets what the key may do.
func callerOf(r *http.Request, identity *httpapi.Identity) (entitlement.Caller, error) {
	if httpapi.KeyCaller(r) {
		return entitlement.FromKey(identity.Username, identity.Groups, httpapi.Subscription(r))
	}
	return entitlement.FromToken(identity.Username, identity.Groups)
}
