// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// createRequest is the body of POST /v1/api-keys.
type createRequest struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Subscription string            `json:"subscription"`
	ExpiresIn    json.RawMessage   `json:"expiresIn"`
	Ephemeral    bool              `json:"ephemeral"`
	Labels       map[string]string `json:"labels"`
}

// createdBody is the one answer that holds the text of a key.
type createdBody struct {
	Key          string            `json:"key"`
	KeyPrefix    string            `json:"keyPrefix"`
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Subscription string            `json:"subscription"`
	CreatedAt    string            `json:"createdAt"`
	ExpiresAt    string            `json:"expiresAt"`
	Ephemeral    bool              `json:"ephemeral"`
	Labels       map[string]string `json:"labels,omitempty"`
}

func createdOf(c apikey.Created) createdBody {
	return createdBody{
		Key: c.Secret.Plaintext(), KeyPrefix: c.Secret.DisplayPrefix(), ID: c.Key.ID, Name: c.Key.Name,
		Subscription: c.Key.Subscription, CreatedAt: timeOf(c.Key.CreatedAt), ExpiresAt: timeOf(c.Key.ExpiresAt),
		Ephemeral: c.Key.Ephemeral, Labels: c.Key.Labels,
	}
}

// keyBody is a key as its owner and administrators see it. Groups is a list
// even when it is empty.
type keyBody struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Description    string            `json:"description,omitempty"`
	Username       string            `json:"username"`
	Subscription   string            `json:"subscription"`
	Tenant         string            `json:"tenant"`
	Groups         []string          `json:"groups"`
	CreationDate   string            `json:"creationDate"`
	ExpirationDate string            `json:"expirationDate,omitempty"`
	Status         apikey.Status     `json:"status"`
	LastUsedAt     string            `json:"lastUsedAt,omitempty"`
	Ephemeral      bool              `json:"ephemeral"`
	Labels         map[string]string `json:"labels,omitempty"`
}

func bodyOf(k apikey.Key) keyBody {
	return keyBody{
		ID: k.ID, Name: k.Name, Description: k.Description, Username: k.Username, Subscription: k.Subscription,
		Tenant: k.Tenant, Groups: append([]string{}, k.Groups...), CreationDate: timeOf(k.CreatedAt), ExpirationDate: timeOf(k.ExpiresAt),
		Status: k.Status, LastUsedAt: timeOf(k.LastUsedAt), Ephemeral: k.Ephemeral, Labels: k.Labels,
	}
}

// timeOf writes a time in whole seconds of UTC; never is empty.
func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// configBody is what clients need to know before they ask for a key.
type configBody struct {
	MaxExpirationDays      int    `json:"max_expiration_days"`
	EphemeralMaxExpiration string `json:"ephemeral_max_expiration"`
}

// searchRequest is the body of POST /v1/api-keys/search.
type searchRequest struct {
	Filters    filters     `json:"filters"`
	Sort       order       `json:"sort"`
	Pagination *pagination `json:"pagination"`
}

// filters has the members of [apikey.Filters].
type filters struct {
	Username            string            `json:"username"`
	Status              []string          `json:"status"`
	Subscription        string            `json:"subscription"`
	IncludeEphemeral    bool              `json:"includeEphemeral"`
	LabelsContain       map[string]string `json:"labelsContain"`
	CreatedAfter        string            `json:"createdAfter"`
	CreatedBefore       string            `json:"createdBefore"`
	ExpiresAfter        string            `json:"expiresAfter"`
	ExpiresBefore       string            `json:"expiresBefore"`
	LastUsedAfter       string            `json:"lastUsedAfter"`
	NameContains        string            `json:"nameContains"`
	DescriptionContains string            `json:"descriptionContains"`
	HasExpiration       *bool             `json:"hasExpiration"`
	HasBeenUsed         *bool             `json:"hasBeenUsed"`
}

// order has the members of [apikey.Sort].
type order struct {
	By    string `json:"by"`
	Order string `json:"order"`
}

// pagination has the members of [apikey.Page].
type pagination struct {
	Limit  *int   `json:"limit"`
	Offset *int   `json:"offset"`
	Cursor string `json:"cursor"`
}

func (r searchRequest) domain() apikey.SearchRequest {
	return apikey.SearchRequest{
		Filters: apikey.Filters(r.Filters), Sort: apikey.Sort(r.Sort), Page: (*apikey.Page)(r.Pagination),
	}
}

// listBody is a page of keys. Data is a list even when it is empty.
type listBody struct {
	Object     string    `json:"object"`
	Data       []keyBody `json:"data"`
	HasMore    bool      `json:"has_more"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

func listOf(r apikey.Results) listBody {
	body := listBody{Object: "list", Data: make([]keyBody, 0, len(r.Keys)), HasMore: r.More, NextCursor: r.Cursor}
	for i := range r.Keys {
		body.Data = append(body.Data, bodyOf(r.Keys[i]))
	}
	return body
}

// bulkRequest is the body of POST /v1/api-keys/bulk-revoke.
type bulkRequest struct {
	Username     string `json:"username"`
	Subscription string `json:"subscription"`
	DryRun       bool   `json:"dryRun"`
}

// maxNamed is how much of a member's name an answer repeats, in bytes.
const maxNamed = 64

// UnmarshalJSON ignores unknown members as other calls do, but for slips of
// dryRun: what was meant to count keys would revoke them.
func (b *bulkRequest) UnmarshalJSON(text []byte) error {
	type plain bulkRequest
	if err := json.Unmarshal(text, (*plain)(b)); err != nil {
		return err //nolint:wrapcheck // httpapi tells the client by its type what is wrong.
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err //nolint:wrapcheck // As above.
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		letters := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		if letters == "dryrun" && !strings.EqualFold(name, "dryRun") {
			return httpapi.NewDecodeError("The member " + strconv.Quote(name[:min(len(name), maxNamed)]) + " is unknown: write dryRun")
		}
	}
	return nil
}

// revokedBody is the answer to a revocation of many keys.
type revokedBody struct {
	RevokedCount int64  `json:"revokedCount"`
	Message      string `json:"message"`
	DryRun       bool   `json:"dryRun,omitempty"`
}

// cleanedBody is the answer to a cleanup.
type cleanedBody struct {
	DeletedCount int64  `json:"deletedCount"`
	PurgedCount  int64  `json:"purgedCount,omitempty"`
	Message      string `json:"message"`
}
