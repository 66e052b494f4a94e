// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func (h Handlers) bulkRevoke(w http.ResponseWriter, r *http.Request, i httpapi.Identity) {
	var body bulkRequest
	if !decode(w, r, &body) {
		return
	}
	done, err := h.Keys.BulkRevoke(r.Context(), actor(r, i), apikey.BulkRevokeRequest(body))
	if err != nil {
		fail(w, err)
		return
	}
	message := "Successfully revoked %d active API key(s) for %s"
	if done.DryRun {
		message = "Dry run: %d active key(s) would be revoked for %s"
	}
	httpapi.WriteJSON(w, http.StatusOK, revokedBody{
		RevokedCount: done.Count, Message: fmt.Sprintf(message, done.Count, scopeText(done.Scope)), DryRun: done.DryRun,
	})
}

func scopeText(s apikey.Scope) string {
	switch {
	case s.Subscription == "":
		return "user " + s.Username
	case s.Username == "":
		return "subscription " + s.Subscription
	default:
		return "user " + s.Username + " in subscription " + s.Subscription
	}
}

func (h Handlers) cleanup(w http.ResponseWriter, r *http.Request) {
	done, err := h.Keys.Cleanup(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, cleanedBody{
		DeletedCount: done.Ephemeral, PurgedCount: done.Purged,
		Message: fmt.Sprintf("Successfully deleted %d expired ephemeral key(s)", done.Ephemeral),
	})
}

func (h Handlers) revokeTenant(w http.ResponseWriter, r *http.Request) {
	tenant := strings.TrimSpace(r.PathValue("tenant"))
	count, err := h.Keys.RevokeTenant(r.Context(), tenant)
	if err != nil {
		fail(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, revokedBody{
		RevokedCount: count, Message: fmt.Sprintf("Successfully revoked %d active API key(s) for tenant %s", count, tenant),
	})
}
