// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// devicePath is the page, below the issuer, on which users log in.
	devicePath = "/device"
	// deviceLifetime is how long a user may take to log in.
	deviceLifetime = 5 * time.Minute
	// pollInterval is what clients are told to leave between two questions.
	pollInterval = time.Second
)

// newProvider serves everything of one issuer below the issuer's path.
func newProvider(s settings, who *accounts) (http.Handler, error) {
	issuer, err := url.Parse(s.issuer)
	if err != nil {
		return nil, fmt.Errorf("--issuer: %w", err)
	}
	key, err := newSigningKey()
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(s.issuer, "/")
	store := newStorage(who, key, s.lifetime)
	config := &op.Config{
		SupportedScopes: []string{"openid", "profile"},
		SupportedClaims: []string{"iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "preferred_username", "groups"},
		DeviceAuthorization: op.DeviceAuthorizationConfig{
			Lifetime: deviceLifetime, PollInterval: pollInterval,
			UserFormURL: base + devicePath, UserCode: op.UserCodeBase20,
		},
	}
	_, _ = rand.Read(config.CryptoKey[:]) // It never fails.
	provider, err := op.NewProvider(config, store, op.StaticIssuer(s.issuer))
	if err != nil {
		return nil, fmt.Errorf("--issuer %s: %w", s.issuer, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.HandleFunc("GET "+devicePath, store.devices.showLogin)
	mux.HandleFunc("POST "+devicePath, store.devices.login)
	if s.mint {
		mux.Handle("POST "+mintPath, &mint{key: key})
	}
	return http.StripPrefix(strings.TrimSuffix(issuer.Path, "/"), mux), nil
}
