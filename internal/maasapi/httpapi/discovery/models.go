// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const (
	// headerCheckedAt says how old what a listing says may be.
	headerCheckedAt = "X-Access-Checked-At"
	// headerCheck is a [catalog.Check]: whether models are missing from the list
	// only because they could not be asked.
	headerCheck = "X-Access-Check"

	headerAuthorization = "Authorization"

	// checkMargin is what a listing may take beside the checks.
	checkMargin = 5 * time.Second
)

// Messages of the model listing.
const (
	noCredential  = "Authorization required"
	twoCredential = "Authorization must be sent once"
	unboundKey    = "API key has no subscription bound"
	notAccessible = "access denied to requested subscription"
	notConfigured = "Subscription system not configured"
	notListed     = "Failed to list models"
)

// ModelLister lists the models of a caller. *catalog.Catalog does.
type ModelLister interface {
	List(ctx context.Context, q catalog.Query) (catalog.Listing, error)
}

// Models answers GET /v1/models.
type Models struct {
	// Source has the tenant's objects.
	Source subscription.Source
	Lister ModelLister
	Clock  clock.PassiveClock
	// Timeout bounds the checks of one listing, as configured for the lister.
	Timeout time.Duration
}

// Routes is the one route.
func (m Models) Routes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/v1/models", Audience: httpapi.Public, Handler: httpapi.Optional(m.list),
		Family: httpapi.FamilyTyped, NoStore: true, Timeout: m.Timeout + checkMargin,
	}}
}

// modelList is the body of the answer.
type modelList struct {
	Data   []catalog.Model `json:"data"`
	Object string          `json:"object"`
}

func (m Models) list(w http.ResponseWriter, r *http.Request, identity *httpapi.Identity) {
	w.Header().Set("Cache-Control", "no-store")
	if identity == nil {
		m.answer(w, catalog.Listing{Models: []catalog.Model{}, CheckedAt: m.Clock.Now(), Check: catalog.CheckComplete})
		return
	}
	credential, message := credentialOf(r)
	if message != "" {
		httpapi.WriteTyped(w, http.StatusUnauthorized, message, httpapi.ClassAuthentication)
		return
	}
	snapshot := m.Source.Snapshot()
	if snapshot == nil {
		httpapi.WriteTyped(w, http.StatusInternalServerError, notConfigured, httpapi.ClassServer)
		return
	}
	caller, err := callerOf(r, identity)
	if err != nil {
		httpapi.WriteTyped(w, http.StatusForbidden, unboundKey, httpapi.ClassPermission)
		return
	}
	listing, err := m.Lister.List(r.Context(), catalog.Query{
		Index: snapshot.Index(), Caller: caller, Subscription: httpapi.Subscription(r), Credential: credential,
	})
	if err != nil {
		refuse(w, err)
		return
	}
	m.answer(w, listing)
}

// credentialOf is what models are asked with, or the message of the refusal. Of
// two values nobody can tell which one the gateway looked at.
func credentialOf(r *http.Request) (catalog.Credential, string) {
	authorization, keys := r.Header[headerAuthorization], r.Header[httpapi.HeaderAPIKey]
	if len(authorization) > 1 || len(authorization) == 0 && len(keys) > 1 {
		return catalog.Credential{}, twoCredential
	}
	c := catalog.NewCredential(r.Header.Get(headerAuthorization), r.Header.Get(httpapi.HeaderAPIKey))
	if c.Empty() {
		return c, noCredential
	}
	return c, ""
}

// refuse answers for a subscription that cannot be listed. One that does not
// exist, one of somebody else and one with an impossible name get one answer.
func refuse(w http.ResponseWriter, err error) {
	var refusal entitlement.Refusal
	switch {
	case !errors.As(err, &refusal):
		httpapi.WriteTyped(w, http.StatusInternalServerError, notListed, httpapi.ClassServer)
	case refusal.Code == entitlement.CodeAccessDenied || refusal.Code == entitlement.CodeBadRequest:
		httpapi.WriteTyped(w, http.StatusForbidden, notAccessible, httpapi.ClassPermission)
	default:
		httpapi.WriteTyped(w, http.StatusForbidden, refusal.Message, httpapi.ClassPermission)
	}
}

func (m Models) answer(w http.ResponseWriter, l catalog.Listing) {
	w.Header().Set(headerCheckedAt, l.CheckedAt.UTC().Format(time.RFC3339))
	w.Header().Set(headerCheck, string(l.Check))
	httpapi.WriteJSON(w, http.StatusOK, modelList{Data: l.Models, Object: "list"})
}
