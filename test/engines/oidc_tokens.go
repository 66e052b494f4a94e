// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"strings"
)

// Claims are what a token says.
type Claims map[string]any

// With returns a copy in which a claim has another value.
func (c Claims) With(name string, value any) Claims {
	out := maps.Clone(c)
	out[name] = value
	return out
}

// Without returns a copy that lacks some claims.
func (c Claims) Without(names ...string) Claims {
	out := maps.Clone(c)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// Token logs a user in to a client, as a command line would, with the device
// authorization grant, and returns the access token.
func (p *OIDC) Token(ctx context.Context, user, client string) (string, error) {
	var failure bytes.Buffer
	command := exec.CommandContext(ctx, p.bin, "token", "--issuer", p.issuer, "--connect", p.Address,
		"--cacert", p.CAFile, "--client", client, "--user", user)
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("get token of %s for %s: %w: %s", user, client, errors.Join(err, p.Err()), strings.TrimSpace(failure.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Claims logs a user in and returns what the token says: the place to start from
// when a token is to lie in one point only.
func (p *OIDC) Claims(ctx context.Context, user, client string) (Claims, error) {
	token, err := p.Token(ctx, user, client)
	if err != nil {
		return nil, err
	}
	return ClaimsOf(token)
}

// ClaimsOf reads a token without checking anything.
func ClaimsOf(token string) (Claims, error) {
	const parts = 3
	fields := strings.Split(token, ".")
	if len(fields) != parts {
		return nil, errors.New("read token: it is no signed JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	// Numbers stay as they are written: a time must not turn into 1.7e+09.
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var claims Claims
	if err := decoder.Decode(&claims); err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return claims, nil
}

// Mint returns a token with exactly these claims, signed with the provider's key: for
// tokens that no honest provider would issue. Nothing is added, "iss" and "exp"
// neither.
func (p *OIDC) Mint(ctx context.Context, claims Claims) (string, error) {
	return p.mint(ctx, map[string]any{"claims": claims})
}

// MintForeign is [OIDC.Mint] with a key that the provider does not publish; the token
// names the one that it does.
func (p *OIDC) MintForeign(ctx context.Context, claims Claims) (string, error) {
	return p.mint(ctx, map[string]any{"claims": claims, "foreignKey": true})
}

func (p *OIDC) mint(ctx context.Context, body map[string]any) (string, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("mint token: %w", err)
	}
	answer, err := p.call(ctx, http.MethodPost, p.under("/test-only/mint"), content)
	if err != nil {
		return "", fmt.Errorf("mint token: %w", errors.Join(err, p.Err()))
	}
	return string(answer), nil
}

// get decodes a JSON document.
func (p *OIDC) get(ctx context.Context, address string, into any) error {
	answer, err := p.call(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return nil
}

// call returns the body of a 200.
func (p *OIDC) call(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", address, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %s", method, address, response.Status, strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
