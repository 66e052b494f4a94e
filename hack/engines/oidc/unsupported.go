// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

var errUnsupported = errors.New("this provider does not do that")

// unsupported refuses what the library asks for grants other than that for
// devices, and for sessions, refresh tokens and introspection.
type unsupported struct{}

func (unsupported) CreateAuthRequest(context.Context, *oidc.AuthRequest, string) (op.AuthRequest, error) {
	return nil, errUnsupported
}

func (unsupported) AuthRequestByID(context.Context, string) (op.AuthRequest, error) {
	return nil, errUnsupported
}

func (unsupported) AuthRequestByCode(context.Context, string) (op.AuthRequest, error) {
	return nil, errUnsupported
}

func (unsupported) SaveAuthCode(context.Context, string, string) error { return errUnsupported }

func (unsupported) DeleteAuthRequest(context.Context, string) error { return errUnsupported }

func (unsupported) CreateAccessAndRefreshTokens(context.Context, op.TokenRequest, string) (id, refresh string, end time.Time, err error) {
	return "", "", time.Time{}, errUnsupported
}

func (unsupported) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, op.ErrInvalidRefreshToken
}

func (unsupported) TerminateSession(context.Context, string, string) error { return errUnsupported }

func (unsupported) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError().WithParent(errUnsupported)
}

func (unsupported) GetRefreshTokenInfo(context.Context, string, string) (userID, tokenID string, err error) {
	return "", "", op.ErrInvalidRefreshToken
}

func (unsupported) AuthorizeClientIDSecret(context.Context, string, string) error {
	return errUnsupported
}

// SetUserinfoFromScopes is deprecated; the library asks that it do nothing.
func (unsupported) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

func (unsupported) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errUnsupported
}

func (unsupported) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, errUnsupported
}

func (unsupported) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnsupported
}

func (unsupported) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnsupported
}
