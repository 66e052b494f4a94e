// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi

import (
	"errors"
	"net/http"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// Handlers serves the calls about API keys of one tenant.
type Handlers struct {
	// Keys does what is asked for.
	Keys *apikey.Service
}

// Routes lists the calls. No answer of theirs may be stored by anybody.
func (h Handlers) Routes() []httpapi.Route {
	public := func(method, pattern string, handler http.Handler) httpapi.Route {
		return httpapi.Route{Method: method, Pattern: pattern, Audience: httpapi.Public, Handler: handler, NoStore: true}
	}
	internal := func(method, pattern string, handler http.HandlerFunc) httpapi.Route {
		return httpapi.Route{Method: method, Pattern: pattern, Audience: httpapi.Internal, Handler: handler, NoStore: true}
	}
	return []httpapi.Route{
		public(http.MethodPost, "/v1/api-keys", httpapi.Strict(h.create)),
		public(http.MethodGet, "/v1/api-keys/config", httpapi.Strict(h.config)),
		public(http.MethodPost, "/v1/api-keys/search", httpapi.Optional(h.search)),
		public(http.MethodPost, "/v1/api-keys/bulk-revoke", httpapi.Strict(h.bulkRevoke)),
		public(http.MethodGet, "/v1/api-keys/{id}", httpapi.Strict(h.get)),
		public(http.MethodDelete, "/v1/api-keys/{id}", httpapi.Strict(h.revoke)),
		internal(http.MethodPost, "/internal/v1/api-keys/cleanup", h.cleanup),
		internal(http.MethodDelete, "/internal/v1/tenants/{tenant}/api-keys", h.revokeTenant),
	}
}

// actor is who asks, from what the gateway says.
func actor(r *http.Request, i httpapi.Identity) apikey.Actor {
	a := apikey.Actor{Username: i.Username, Groups: i.Groups}
	if key := httpapi.APIKey(r); key != "" {
		a.Key, a.Subscription = true, httpapi.Subscription(r)
		a.Digest, _ = apikey.Parse(key) // The digest of none is that of no key.
	}
	return a
}

// decode reads the body of a request, or answers and returns false.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	err := httpapi.DecodeJSON(r, into)
	if err == nil {
		return true
	}
	httpapi.WriteDecodeError(w, httpapi.FamilyFlat, err)
	return false
}

// fail answers for an error of the service.
func fail(w http.ResponseWriter, err error) {
	e := &apikey.Error{Message: "Internal error"}
	errors.As(err, &e)
	httpapi.WriteCoded(w, statusOf(e.Kind), e.Message, e.Code)
}

func statusOf(kind apikey.Kind) int {
	switch kind {
	case apikey.KindInvalid:
		return http.StatusBadRequest
	case apikey.KindForbidden:
		return http.StatusForbidden
	case apikey.KindNotFound:
		return http.StatusNotFound
	case apikey.KindUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
