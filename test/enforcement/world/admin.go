// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Decision is what the tenant's gateway did with a request; nil if it knows none of
// that id.
func (t *Tenant) Decision(ctx context.Context, id string) (*Decision, error) {
	var found []Decision
	if err := t.ask(ctx, http.MethodGet, "/requests?id="+url.QueryEscape(id), "", &found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

// Counters are what the gateway's limiter has counted in the present windows.
func (t *Tenant) Counters(ctx context.Context) (all []Use, err error) {
	err = t.ask(ctx, http.MethodGet, "/counters", "", &all)
	return all, err
}

// ResetCounters begins every window of the gateway's limiter anew.
func (t *Tenant) ResetCounters(ctx context.Context) error {
	return t.ask(ctx, http.MethodDelete, "/counters", "", nil)
}

// MoveClock has the gateway's limiter take another time for now: the real one and so
// much.
func (t *Tenant) MoveClock(ctx context.Context, ahead time.Duration) error {
	return t.ask(ctx, http.MethodPut, "/clock", ahead.String(), nil)
}

// SetLimiter has the gateway's limiter answer, or not.
func (t *Tenant) SetLimiter(ctx context.Context, up bool) error {
	word := "down"
	if up {
		word = "up"
	}
	return t.ask(ctx, http.MethodPut, "/limiter", word, nil)
}

// Configuration is what a gateway executes.
type Configuration struct {
	ActionSets int `json:"actionSets"`
	Limits     int `json:"limits"`
	// EnvoyFilter and Limitador are the resource versions of the generated objects that
	// it has read; empty: there is no such object.
	EnvoyFilter string `json:"envoyFilter"`
	Limitador   string `json:"limitador"`
	// Error is why it cannot be executed.
	Error string   `json:"error"`
	Notes []string `json:"notes"`
}

// Configuration is what the tenant's gateway executes.
func (t *Tenant) Configuration(ctx context.Context) (c Configuration, err error) {
	err = t.ask(ctx, http.MethodGet, "/config", "", &c)
	return c, err
}

// ask asks the gateway about itself.
func (t *Tenant) ask(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+t.admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the gateway of %s: %w", t, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask the gateway of %s: %w", t, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("ask the gateway of %s: %s %s: %s", t, path, response.Status, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("ask the gateway of %s: %s: %w", t, path, err)
	}
	return nil
}
