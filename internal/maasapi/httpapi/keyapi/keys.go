// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi

import (
	"errors"
	"net/http"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func (h Handlers) create(w http.ResponseWriter, r *http.Request, i httpapi.Identity) {
	var body createRequest
	if !decode(w, r, &body) {
		return
	}
	created, err := h.Keys.Create(r.Context(), actor(r, i), apikey.CreateRequest(body))
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusCreated, createdOf(created))
}

func (h Handlers) config(w http.ResponseWriter, _ *http.Request, _ httpapi.Identity) {
	limits := h.Keys.Limits()
	httpapi.WriteJSON(w, http.StatusOK, configBody{
		MaxExpirationDays: limits.MaxExpirationDays, EphemeralMaxExpiration: limits.EphemeralMaximum.String(),
	})
}

func (h Handlers) get(w http.ResponseWriter, r *http.Request, i httpapi.Identity) {
	k, err := h.Keys.Get(r.Context(), actor(r, i), r.PathValue("id"))
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, bodyOf(k))
}

func (h Handlers) revoke(w http.ResponseWriter, r *http.Request, i httpapi.Identity) {
	k, err := h.Keys.Revoke(r.Context(), actor(r, i), r.PathValue("id"))
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, bodyOf(k))
}

// search answers nobody with no keys, whatever they send. A body is optional.
func (h Handlers) search(w http.ResponseWriter, r *http.Request, i *httpapi.Identity) {
	if i == nil {
		httpapi.WriteJSON(w, http.StatusOK, listOf(apikey.Results{}))
		return
	}
	var body searchRequest
	if err := httpapi.DecodeJSON(r, &body); err != nil && !errors.Is(err, httpapi.ErrEmpty) {
		httpapi.WriteDecodeError(w, httpapi.FamilyFlat, err)
		return
	}
	results, err := h.Keys.Search(r.Context(), actor(r, *i), body.domain())
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, listOf(results))
}
