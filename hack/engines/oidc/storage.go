// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// storage tells the library who there is and what their tokens say.
type storage struct {
	unsupported

	who      *accounts
	key      *signingKey
	lifetime time.Duration
	devices  *devices
}

var (
	_ op.Storage                        = (*storage)(nil)
	_ op.DeviceAuthorizationStorage     = (*storage)(nil)
	_ op.CanSetUserinfoFromRequest      = (*storage)(nil)
	_ op.CanGetPrivateClaimsFromRequest = (*storage)(nil)
)

func newStorage(who *accounts, key *signingKey, lifetime time.Duration) *storage {
	return &storage{who: who, key: key, lifetime: lifetime, devices: &devices{who: who}}
}

// Health is always well: everything is in memory.
func (s *storage) Health(context.Context) error { return nil }

// SigningKey signs all tokens.
func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.key, nil }

// SignatureAlgorithms are those that discovery names.
func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{s.key.SignatureAlgorithm()}, nil
}

// KeySet is what the provider publishes.
func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey{s.key}}, nil
}

// GetClientByClientID finds a client.
func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	found, err := s.who.client(id)
	if err != nil {
		return nil, err
	}
	return client{account: found, lifetime: s.lifetime}, nil
}

// CreateAccessToken gives a token its name and its end. Nothing is kept: the token
// carries all there is to know.
func (s *storage) CreateAccessToken(context.Context, op.TokenRequest) (id string, end time.Time, err error) {
	return rand.Text(), time.Now().Add(s.lifetime), nil
}

// GetPrivateClaimsFromRequest returns what an access token says beyond the claims
// that the library sets, whatever the scopes are.
func (s *storage) GetPrivateClaimsFromRequest(_ context.Context, request op.TokenRequest, _ []string) (map[string]any, error) {
	u, err := s.who.userBySubject(request.GetSubject())
	if err != nil {
		return nil, err
	}
	claims := u.claims()
	if from, ok := request.(*op.DeviceAuthorizationState); ok {
		requester, err := s.who.client(from.ClientID)
		if err != nil {
			return nil, err
		}
		if !requester.NoAuthorizedParty {
			claims["azp"] = requester.ID
		}
	}
	return claims, nil
}

// SetUserinfoFromRequest sets what an id token says about the user.
func (s *storage) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, request op.IDTokenRequest, _ []string) error {
	return s.setUserInfo(info, request.GetSubject())
}

// SetUserinfoFromToken sets what the userinfo endpoint answers.
func (s *storage) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, _, subject, _ string) error {
	return s.setUserInfo(info, subject)
}

func (s *storage) setUserInfo(info *oidc.UserInfo, subject string) error {
	u, err := s.who.userBySubject(subject)
	if err != nil {
		return err
	}
	info.Subject = subject
	for name, value := range u.claims() {
		info.AppendClaims(name, value)
	}
	return nil
}

// client is an account as the library sees it: a public one that only ever asks
// with the device grant.
type client struct {
	account

	lifetime time.Duration
}

func (c client) GetID() string                        { return c.ID }
func (c client) RedirectURIs() []string               { return nil }
func (c client) PostLogoutRedirectURIs() []string     { return nil }
func (c client) ApplicationType() op.ApplicationType  { return op.ApplicationTypeNative }
func (c client) AuthMethod() oidc.AuthMethod          { return oidc.AuthMethodNone }
func (c client) ResponseTypes() []oidc.ResponseType   { return nil }
func (c client) GrantTypes() []oidc.GrantType         { return []oidc.GrantType{oidc.GrantTypeDeviceCode} }
func (c client) LoginURL(string) string               { return "" }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c client) IDTokenLifetime() time.Duration       { return c.lifetime }
func (c client) DevMode() bool                        { return false }
func (c client) IsScopeAllowed(string) bool           { return true }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) ClockSkew() time.Duration             { return 0 }

func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string { return unrestricted }

func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return unrestricted }

func unrestricted(scopes []string) []string { return scopes }
