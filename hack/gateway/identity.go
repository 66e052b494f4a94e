// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Headers by which identities travel.
const (
	headerUsername     = "X-Maas-Username"
	headerGroup        = "X-Maas-Group"
	headerSubscription = "X-Maas-Subscription"
	headerKey          = "X-Api-Key"
	headerReason       = "X-Ext-Auth-Reason"

	keyPrefix     = "sk-oai-"
	authenticated = "system:authenticated"

	callbackTimeout = 5 * time.Second
	maxReply        = 1 << 20
)

// safeGroup is what the generated policies let through of groups.
var safeGroup = regexp.MustCompile(`^[A-Za-z0-9:._/-]+$`)

// Identifier decides who is calling and whether the call may pass. It is the part
// that a real authorization server takes over.
type Identifier interface {
	// Identify returns the headers to set in place of the client's, empty ones to
	// leave out, or the refusal.
	Identify(ctx context.Context, call Call) (map[string]string, *Refusal)
}

// Call is what a decision is made of.
type Call struct {
	Header http.Header
	// Model is <namespace>/<name>; empty on the routes of maas-api.
	Model string
	// KeyHeader accepts API keys in X-Api-Key.
	KeyHeader bool
}

// Refusal is an answer instead of the backend's.
type Refusal struct {
	Status          int
	Message, Reason string
}

// caller is an entry of the table: who a credential belongs to.
type caller struct {
	Username     string   `json:"username"`
	Groups       []string `json:"groups"`
	Subscription string   `json:"subscription"`
	refused      bool
}

// UnmarshalJSON also takes the word "refuse".
func (c *caller) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil {
		if word != "refuse" {
			return fmt.Errorf("%q is neither a caller nor the word refuse", word)
		}
		c.refused = true
		return nil
	}
	type plain caller
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(c)); err != nil {
		return err
	}
	if c.Username == "" {
		return errors.New("a caller needs a username")
	}
	return nil
}

// table is the Identifier of the stand-in: tokens from a file, keys from maas-api.
type table struct {
	tokens    map[string]caller
	api       string
	keyHeader bool
	client    *http.Client
	log       *slog.Logger
}

func newTable(s settings, log *slog.Logger) (*table, error) {
	text, err := os.ReadFile(s.identities)
	if err != nil {
		return nil, fmt.Errorf("read --identities: %w", err)
	}
	t := &table{api: strings.TrimSuffix(s.api, "/"), keyHeader: s.keyHeader, log: log}
	if err := yaml.UnmarshalStrict(text, &t.tokens); err != nil {
		return nil, fmt.Errorf("read --identities %s: %w", s.identities, err)
	}
	if u, err := url.Parse(t.api); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--maas-api %q is no URL: write https://127.0.0.1:<port>", s.api)
	}
	pool, err := roots(s.apiCA)
	if err != nil {
		return nil, err
	}
	t.client = &http.Client{Timeout: callbackTimeout, Transport: &http.Transport{TLSClientConfig: trust(pool, s.insecure), MaxIdleConnsPerHost: 100}}
	return t, nil
}

// key is the API key of a call; in X-Api-Key it counts only without one in
// Authorization.
func (t *table) key(call Call) string {
	if key := bearer(call.Header); strings.HasPrefix(key, keyPrefix) {
		return key
	}
	accepted := call.KeyHeader || call.Model == "" && t.keyHeader
	if key := call.Header.Get(headerKey); accepted && strings.HasPrefix(key, keyPrefix) {
		return key
	}
	return ""
}

// Identify does what the policies of maas-api's route and of models say.
func (t *table) Identify(ctx context.Context, call Call) (map[string]string, *Refusal) {
	who, isKey, refusal := t.authenticate(ctx, call)
	if refusal != nil {
		return nil, refusal
	}
	for _, name := range []string{headerUsername, headerGroup} {
		if _, sent := call.Header[name]; sent {
			return nil, &Refusal{http.StatusForbidden, "Access denied", "unauthorized"}
		}
	}
	groups := []string{authenticated}
	for _, group := range who.Groups {
		if group != authenticated && safeGroup.MatchString(group) {
			groups = append(groups, group)
		}
	}
	list, err := json.Marshal(groups)
	if err != nil {
		return nil, &Refusal{http.StatusInternalServerError, err.Error(), "internal_error"}
	}
	set := map[string]string{headerUsername: who.Username, headerGroup: string(list)}
	if isKey || who.Subscription != "" {
		set[headerSubscription] = who.Subscription // Not what the client asks for, also when the key has none.
	}
	if call.Model == "" {
		return set, nil
	}
	requested := who.Subscription
	if !isKey && requested == "" {
		requested = call.Header.Get(headerSubscription)
	}
	chosen, refusal := t.selected(ctx, map[string]any{
		"username": who.Username, "groups": groups, "requestedSubscription": requested, "requestedModel": call.Model,
	})
	if refusal != nil {
		return nil, refusal
	}
	set[headerSubscription] = chosen
	return set, nil
}

// authenticate finds out who a credential belongs to.
func (t *table) authenticate(ctx context.Context, call Call) (who caller, isKey bool, refusal *Refusal) {
	unauthenticated := &Refusal{http.StatusUnauthorized, "Authentication required", "unauthenticated"}
	if key := t.key(call); key != "" {
		var reply struct {
			Valid        bool     `json:"valid"`
			Username     string   `json:"username"`
			Groups       []string `json:"groups"`
			Subscription string   `json:"subscription"`
		}
		if err := t.ask(ctx, "/internal/v1/api-keys/validate", map[string]any{"key": key}, &reply); err != nil {
			return who, true, t.broken("validate", err)
		}
		if !reply.Valid || reply.Username == "" {
			return who, true, &Refusal{http.StatusForbidden, "Access denied", "unauthorized"}
		}
		return caller{Username: reply.Username, Groups: reply.Groups, Subscription: reply.Subscription}, true, nil
	}
	token := bearer(call.Header)
	who, known := t.tokens[token]
	if token == "" || !known || who.refused {
		return who, false, unauthenticated
	}
	return who, false, nil
}

// selected asks which subscription a request is charged to and judges the answer as
// a generated policy does.
func (t *table) selected(ctx context.Context, body map[string]any) (string, *Refusal) {
	var reply struct {
		Name              string `json:"name"`
		Error             string `json:"error"`
		Message           string `json:"message"`
		Phase             string `json:"phase"`
		DeletionTimestamp string `json:"deletionTimestamp"`
		ResolvedModel     string `json:"resolvedModel"`
		AccessAllowed     bool   `json:"accessAllowed"`
	}
	if err := t.ask(ctx, "/internal/v1/subscriptions/select", body, &reply); err != nil {
		return "", t.broken("select", err)
	}
	valid := reply.Name != "" && reply.Error == "" && reply.DeletionTimestamp == "" && reply.ResolvedModel == body["requestedModel"] &&
		slices.Contains([]string{"Active", "Degraded"}, reply.Phase)
	if !valid || !reply.AccessAllowed {
		return "", &Refusal{http.StatusForbidden, cmp.Or(reply.Message, "Access denied"), cmp.Or(reply.Error, "unauthorized")}
	}
	return reply.Name, nil
}

// broken refuses because a callback does not work: without its word nobody passes.
func (t *table) broken(callback string, err error) *Refusal {
	t.log.Error("Asking maas-api failed: is --maas-api its internal address?", "callback", callback, "error", err)
	return &Refusal{http.StatusForbidden, "Access denied", "unauthorized"}
}

// ask makes a callback, which carries nothing of the client's request.
func (t *table) ask(ctx context.Context, path string, body, reply any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.api+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxReply)).Decode(reply); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", path, err)
	}
	return nil
}
