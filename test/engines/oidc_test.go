// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"

	"github.com/opendatahub-io/maas-operator/test/engines"
)

// startOIDC starts a provider that ends with the test.
func startOIDC(t *testing.T, o engines.OIDCOptions) *engines.OIDC {
	t.Helper()
	o.Out = t.Output()
	if o.Users == nil {
		o.Users = []engines.OIDCUser{
			{Name: "alice", Subject: "s-1", Groups: []string{"readers", "writers"}},
			{Name: "bob", Subject: "s-2"},
			{Name: "carol", Subject: "s-3", Groups: []string{}},
		}
		o.Clients = []engines.OIDCClient{
			{ID: "maas-cli"}, {ID: "other-app", Audience: []string{"account"}}, {ID: "plain", NoAuthorizedParty: true},
		}
	}
	p, err := engines.StartOIDC(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// verify does what an audience of tokens does: it reads discovery and keys of the
// issuer, and checks the signature with the key that the token names.
func verify(ctx context.Context, p *engines.OIDC, token string) error {
	client, err := clientTo(p)
	if err != nil {
		return err
	}
	var discovery struct {
		Issuer     string   `json:"issuer"`
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := get(ctx, client, strings.TrimSuffix(p.Issuer(), "/")+"/.well-known/openid-configuration", &discovery); err != nil {
		return err
	}
	if discovery.Issuer != p.Issuer() || !cmp.Equal(discovery.Algorithms, []string{"RS256"}) {
		return fmt.Errorf("discovery = %+v", discovery)
	}
	var set struct {
		Keys []struct{ Kid, Kty, Alg, Use, N, E string }
	}
	if err := get(ctx, client, discovery.Keys, &set); err != nil {
		return err
	}
	parts := strings.Split(token, ".")
	var head struct{ Alg, Kid string }
	header, headErr := base64.RawURLEncoding.DecodeString(parts[0])
	signature, signatureErr := base64.RawURLEncoding.DecodeString(parts[len(parts)-1])
	if err := errors.Join(headErr, signatureErr, json.Unmarshal(header, &head)); err != nil {
		return err
	}
	for _, key := range set.Keys {
		if key.Kid != head.Kid || key.Kty != "RSA" || key.Alg != head.Alg || key.Use != "sig" {
			continue
		}
		n, nErr := base64.RawURLEncoding.DecodeString(key.N)
		e, eErr := base64.RawURLEncoding.DecodeString(key.E)
		if err := errors.Join(nErr, eErr); err != nil {
			return err
		}
		public := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature)
	}
	return fmt.Errorf("no key for %+v in %+v", head, set)
}

// clientTo trusts the provider's authority, and nobody else, for the issuer's name.
func clientTo(p *engines.OIDC) (*http.Client, error) {
	roots, err := cert.NewPool(p.CAFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.Address)
		},
	}}, nil
}

func get(ctx context.Context, client *http.Client, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

func TestATokenSaysWhoLoggedInToWhat(t *testing.T) {
	t.Parallel()
	p := startOIDC(t, engines.OIDCOptions{Issuer: "https://oidc.identity.example:8443/realms/red", TokenLifetime: time.Minute})
	const issuer = "https://oidc.identity.example:8443/realms/red"
	for name, test := range map[string]struct {
		user, client string
		want         engines.Claims
	}{
		"a user with groups": {"alice", "maas-cli", engines.Claims{
			"sub": "s-1", "preferred_username": "alice", "azp": "maas-cli", "aud": []any{"maas-cli"}, "groups": []any{"readers", "writers"},
		}},
		"a user without the claim": {"bob", "maas-cli", engines.Claims{
			"sub": "s-2", "preferred_username": "bob", "azp": "maas-cli", "aud": []any{"maas-cli"},
		}},
		"a user with an empty claim": {"carol", "maas-cli", engines.Claims{
			"sub": "s-3", "preferred_username": "carol", "azp": "maas-cli", "aud": []any{"maas-cli"}, "groups": []any{},
		}},
		"a client with an audience besides itself": {"bob", "other-app", engines.Claims{
			"sub": "s-2", "preferred_username": "bob", "azp": "other-app", "aud": []any{"other-app", "account"},
		}},
		"a client that is no authorized party": {"bob", "plain", engines.Claims{
			"sub": "s-2", "preferred_username": "bob", "aud": []any{"plain"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := time.Now().Unix()
			token, err := p.Token(t.Context(), test.user, test.client)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(t.Context(), p, token); err != nil {
				t.Error("the token does not verify:", err)
			}
			claims, err := engines.ClaimsOf(token)
			if err != nil {
				t.Fatal(err)
			}
			end, err := claims["exp"].(json.Number).Int64()
			if earliest, latest := before+60, time.Now().Unix()+61; err != nil || end < earliest || end > latest {
				t.Errorf("exp = %v, want between %d and %d", claims["exp"], earliest, latest)
			}
			got := claims.Without("exp", "iat", "nbf", "jti", "client_id")
			if diff := cmp.Diff(test.want.With("iss", issuer), got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyUsersAndClientsOfTheListLogIn(t *testing.T) {
	t.Parallel()
	p := startOIDC(t, engines.OIDCOptions{})
	if _, err := p.Token(t.Context(), "mallory", "maas-cli"); err == nil || !strings.Contains(err.Error(), "wrong user name or password") {
		t.Errorf("an unknown user: %v, want a refusal of the login", err)
	}
	if _, err := p.Token(t.Context(), "alice", "unknown-app"); err == nil {
		t.Error("an unknown client got a token")
	}
}

func TestMintSignsWhatNoHonestProviderWould(t *testing.T) {
	t.Parallel()
	p := startOIDC(t, engines.OIDCOptions{})
	honest, err := p.Claims(t.Context(), "alice", "maas-cli")
	if err != nil {
		t.Fatal(err)
	}
	claims := honest.Without("azp", "groups").With("exp", json.Number("1700000000")).
		With("iss", "https://elsewhere.example").With("preferred_username", "system:admin")
	token, err := p.Mint(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	got, err := engines.ClaimsOf(token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(claims, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if err := verify(t.Context(), p, token); err != nil {
		t.Error("a minted token does not verify:", err)
	}

	foreign, err := p.MintForeign(t.Context(), honest)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(t.Context(), p, foreign); !errors.Is(err, rsa.ErrVerification) {
		t.Errorf("a token signed with a foreign key: %v, want a wrong signature", err)
	}
}

func TestProvidersSideBySideShareNoKeys(t *testing.T) {
	t.Parallel()
	red, blue := startOIDC(t, engines.OIDCOptions{}), startOIDC(t, engines.OIDCOptions{})
	if red.Issuer() == blue.Issuer() {
		t.Fatalf("both are %s", red.Issuer())
	}
	token, err := red.Token(t.Context(), "alice", "maas-cli")
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(t.Context(), red, token); err != nil {
		t.Error(err)
	}
	if err := verify(t.Context(), blue, token); err == nil {
		t.Error("a token of one issuer verifies at the other")
	}
}

func TestAnIssuerMayEndWithASlash(t *testing.T) {
	t.Parallel()
	p := startOIDC(t, engines.OIDCOptions{Issuer: "https://oidc.identity.example/realms/blue/"})
	token, err := p.Token(t.Context(), "alice", "maas-cli")
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(t.Context(), p, token); err != nil {
		t.Error(err)
	}
	if claims, err := engines.ClaimsOf(token); err != nil || claims["iss"] != p.Issuer() {
		t.Errorf("iss = %v (%v), want %s", claims["iss"], err, p.Issuer())
	}
}

func TestTheDeathOfAProviderIsNoticed(t *testing.T) {
	t.Parallel()
	p, err := engines.StartOIDC(t.Context(), engines.OIDCOptions{
		Users: []engines.OIDCUser{{Name: "alice", Subject: "s-1"}}, Clients: []engines.OIDCClient{{ID: "maas-cli"}}, Out: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err != nil {
		t.Error("while it runs:", err)
	}
	if err := p.Process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	for name, err := range map[string]error{"Err": p.Err(), "Stop": p.Stop()} {
		if err == nil || !strings.Contains(err.Error(), "ended by itself") || !strings.Contains(err.Error(), `"Serving"`) {
			t.Errorf("%s() = %v, want that it ended, with its log", name, err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Error("a second Stop:", err)
	}
}

func TestAFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options engines.OIDCOptions
		want    string
	}{
		"an issuer without TLS": {engines.OIDCOptions{Issuer: "http://oidc.example"}, "scheme for issuer must be"},
		"a user without a subject": {
			engines.OIDCOptions{Users: []engines.OIDCUser{{Name: "alice"}}, Clients: []engines.OIDCClient{{ID: "maas-cli"}}},
			`subject "" of user "alice"`,
		},
		"an address that others reach": {engines.OIDCOptions{Issuer: "https://oidc.example", Address: "0.0.0.0:1"}, "no loopback address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Out = t.Output()
			p, err := engines.StartOIDC(t.Context(), test.options)
			if err == nil {
				_ = p.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %q, want it to say %q", err, test.want)
			}
		})
	}
}
