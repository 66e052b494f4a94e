// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"net/http"
)

// CreateKey asks for a key. ExpiresIn is a text or a number.
type CreateKey struct {
	Name         string            `json:"name,omitempty"`
	Description  string            `json:"description,omitempty"`
	Subscription string            `json:"subscription,omitempty"`
	ExpiresIn    any               `json:"expiresIn,omitempty"`
	Ephemeral    bool              `json:"ephemeral,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// CreatedKey is a new key with its text.
type CreatedKey struct {
	Key          string            `json:"key"`
	KeyPrefix    string            `json:"keyPrefix"`
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Subscription string            `json:"subscription"`
	CreatedAt    string            `json:"createdAt"`
	ExpiresAt    string            `json:"expiresAt"`
	Ephemeral    bool              `json:"ephemeral"`
	Labels       map[string]string `json:"labels"`
}

// Key is a key as its owner sees it.
type Key struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Description    string            `json:"description"`
	Username       string            `json:"username"`
	Subscription   string            `json:"subscription"`
	Tenant         string            `json:"tenant"`
	Groups         []string          `json:"groups"`
	CreationDate   string            `json:"creationDate"`
	ExpirationDate string            `json:"expirationDate"`
	Status         string            `json:"status"`
	LastUsedAt     string            `json:"lastUsedAt"`
	Ephemeral      bool              `json:"ephemeral"`
	Labels         map[string]string `json:"labels"`
}

// KeyList is a page of keys.
type KeyList struct {
	Data       []Key  `json:"data"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"`
}

// Revoked tells how many keys were revoked.
type Revoked struct {
	Count   int64  `json:"revokedCount"`
	Message string `json:"message"`
	DryRun  bool   `json:"dryRun"`
}

// Verdict is what validation says of a key.
type Verdict struct {
	Valid        bool     `json:"valid"`
	UserID       string   `json:"userId"`
	Username     string   `json:"username"`
	KeyID        string   `json:"keyId"`
	KeyName      string   `json:"keyName"`
	Groups       []string `json:"groups"`
	Subscription string   `json:"subscription"`
	Tenant       string   `json:"tenant"`
	Reason       string   `json:"reason"`
	ExpiresAt    string   `json:"expiresAt"`
}

// SelectRequest asks for the subscription of a request.
type SelectRequest struct {
	Username     string   `json:"username"`
	Groups       []string `json:"groups"`
	Subscription string   `json:"requestedSubscription,omitempty"`
	Model        string   `json:"requestedModel,omitempty"`
}

// Selection is the subscription, or why there is none.
type Selection struct {
	Error             string            `json:"error"`
	Message           string            `json:"message"`
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	DisplayName       string            `json:"displayName"`
	Priority          int32             `json:"priority"`
	ModelRefs         []ModelRef        `json:"modelRefs"`
	OrganizationID    string            `json:"organizationId"`
	CostCenter        string            `json:"costCenter"`
	Labels            map[string]string `json:"labels"`
	ResolvedModel     string            `json:"resolvedModel"`
	SubscriptionKey   string            `json:"subscriptionKey"`
	SubscriptionID    string            `json:"subscriptionId"`
	RateLimitIdentity string            `json:"rateLimitIdentity"`
	AccessAllowed     bool              `json:"accessAllowed"`
	Phase             string            `json:"phase"`
	Ready             bool              `json:"ready"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
}

// ModelRef is a model of a subscription.
type ModelRef struct {
	Name            string `json:"name"`
	ModelName       string `json:"model_name"`
	DisplayName     string `json:"display_name"`
	Description     string `json:"description"`
	Source          string `json:"source"`
	Unlimited       bool   `json:"unlimited"`
	TokenRateLimits []struct {
		Limit  int64  `json:"limit"`
		Window string `json:"window"`
	} `json:"token_rate_limits"`
	BillingRate *struct {
		PerToken string `json:"per_token"`
	} `json:"billing_rate"`
}

// Subscription is one as its owners see it.
type Subscription struct {
	Name           string            `json:"subscription_id_header"`
	Description    string            `json:"subscription_description"`
	DisplayName    string            `json:"display_name"`
	Priority       int32             `json:"priority"`
	ModelRefs      []ModelRef        `json:"model_refs"`
	OrganizationID string            `json:"organization_id"`
	CostCenter     string            `json:"cost_center"`
	Labels         map[string]string `json:"labels"`
}

// Model is one that the caller may use.
type Model struct {
	ID            string         `json:"id"`
	OwnedBy       string         `json:"owned_by"`
	Created       int64          `json:"created"`
	Kind          string         `json:"kind"`
	URL           string         `json:"url"`
	BaseURL       string         `json:"baseUrl"`
	Ready         bool           `json:"ready"`
	Details       map[string]any `json:"modelDetails"`
	Subscriptions []struct {
		Name        string `json:"name"`
		DisplayName string `json:"displayName"`
	} `json:"subscriptions"`
}

// Create makes a key.
func (c Client) Create(ctx context.Context, k CreateKey) (created CreatedKey, err error) {
	err = c.call(ctx, ask{http.MethodPost, "/v1/api-keys", k, http.StatusCreated}, &created)
	c.used.Secret(created.Key)
	return created, err
}

// Get returns a key.
func (c Client) Get(ctx context.Context, id string) (k Key, err error) {
	err = c.call(ctx, ask{http.MethodGet, "/v1/api-keys/" + id, nil, http.StatusOK}, &k)
	return k, err
}

// Revoke ends a key.
func (c Client) Revoke(ctx context.Context, id string) (k Key, err error) {
	err = c.call(ctx, ask{http.MethodDelete, "/v1/api-keys/" + id, nil, http.StatusOK}, &k)
	return k, err
}

// Search returns a page of keys.
func (c Client) Search(ctx context.Context, body any) (page KeyList, err error) {
	err = c.call(ctx, ask{http.MethodPost, "/v1/api-keys/search", body, http.StatusOK}, &page)
	return page, err
}

// BulkRevoke ends many keys.
func (c Client) BulkRevoke(ctx context.Context, body any) (done Revoked, err error) {
	err = c.call(ctx, ask{http.MethodPost, "/v1/api-keys/bulk-revoke", body, http.StatusOK}, &done)
	return done, err
}

// Validate asks as the gateway does whether a key is valid.
func (c Client) Validate(ctx context.Context, key string) (v Verdict, err error) {
	c.used.Secret(key)
	err = c.call(ctx, ask{http.MethodPost, "/internal/v1/api-keys/validate", map[string]string{"key": key}, http.StatusOK}, &v)
	return v, err
}

// Select asks as the gateway does for the subscription of a request.
func (c Client) Select(ctx context.Context, r SelectRequest) (s Selection, err error) {
	c.used.Secret(r.Username)
	c.used.Secret(r.Groups...)
	err = c.call(ctx, ask{http.MethodPost, "/internal/v1/subscriptions/select", r, http.StatusOK}, &s)
	return s, err
}

// Subscriptions lists the caller's.
func (c Client) Subscriptions(ctx context.Context) (list []Subscription, err error) {
	err = c.call(ctx, ask{http.MethodGet, "/v1/subscriptions", nil, http.StatusOK}, &list)
	return list, err
}

// SubscriptionsOf lists the caller's that include a model.
func (c Client) SubscriptionsOf(ctx context.Context, model string) (list []Subscription, err error) {
	err = c.call(ctx, ask{http.MethodGet, "/v1/model/" + model + "/subscriptions", nil, http.StatusOK}, &list)
	return list, err
}

// Models lists what the caller may use.
func (c Client) Models(ctx context.Context) ([]Model, error) {
	var list struct {
		Data []Model `json:"data"`
	}
	err := c.call(ctx, ask{http.MethodGet, "/v1/models", nil, http.StatusOK}, &list)
	return list.Data, err
}
