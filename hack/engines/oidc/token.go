// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	oauth "github.com/zitadel/oidc/v3/pkg/client"
	"github.com/zitadel/oidc/v3/pkg/client/rp"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

const tokenIntro = `oidc-provider token logs a user in with the device authorization grant, as a
command line would, and prints the access token.

Usage: oidc-provider token --issuer URL --cacert FILE --client ID --user NAME [flags]

Flags:
`

// loginSettings are the flags of the subcommand.
type loginSettings struct {
	issuer, caFile, connect string
	client, user, password  string
}

func parseLogin(args []string, errOut io.Writer) (loginSettings, error) {
	var s loginSettings
	flags := flag.NewFlagSet("oidc-provider token", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprint(errOut, tokenIntro)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.issuer, "issuer", "", "issuer to log in at")
	flags.StringVar(&s.caFile, "cacert", "", "file with the authority of the issuer's certificate")
	flags.StringVar(&s.connect, "connect", "", "address to connect to, whatever the name in the issuer is")
	flags.StringVar(&s.client, "client", "", "id of the client to log in to")
	flags.StringVar(&s.user, "user", "", "name of the user")
	flags.StringVar(&s.password, "password", "", "password of the user (default: the name)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.issuer == "" || s.caFile == "" || s.client == "" || s.user == "" {
		return s, errors.New("--issuer, --cacert, --client and --user are required")
	}
	s.password = cmp.Or(s.password, s.user)
	return s, nil
}

func printToken(ctx context.Context, args []string, out, errOut io.Writer) error {
	s, err := parseLogin(args, errOut)
	if err != nil {
		return err
	}
	token, err := s.login(ctx)
	if err != nil {
		return fmt.Errorf("log in %s: %w", s.user, err)
	}
	fmt.Fprintln(out, token)
	return nil
}

// login plays the client and, on the page the client names, the user.
func (s loginSettings) login(ctx context.Context) (string, error) {
	const timeout = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	httpClient, err := s.httpClient()
	if err != nil {
		return "", err
	}
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile}
	party, err := rp.NewRelyingPartyOIDC(ctx, s.issuer, s.client, "", "", scopes, rp.WithHTTPClient(httpClient))
	if err != nil {
		return "", err
	}
	device, err := rp.DeviceAuthorization(ctx, scopes, party, nil)
	if err != nil {
		return "", err
	}
	if err := s.submit(ctx, httpClient, device.VerificationURI, device.UserCode); err != nil {
		return "", err
	}
	// The user is done already, so the client asks once and not at intervals.
	request := &oauth.DeviceAccessTokenRequest{
		ClientCredentialsRequest: &oidc.ClientCredentialsRequest{ClientID: s.client},
		DeviceAccessTokenRequest: oidc.DeviceAccessTokenRequest{GrantType: oidc.GrantTypeDeviceCode, DeviceCode: device.DeviceCode},
	}
	tokens, err := oauth.CallDeviceAccessTokenEndpointWithAuthFn(ctx, request, tokenEndpoint{party}, nil)
	if err != nil {
		return "", err
	}
	if _, err := rp.VerifyTokens[*oidc.IDTokenClaims](ctx, tokens.AccessToken, tokens.IDToken, party.IDTokenVerifier()); err != nil {
		return "", fmt.Errorf("verify id token: %w", err)
	}
	return tokens.AccessToken, nil
}

// submit fills in the form that a user would see in a browser.
func (s loginSettings) submit(ctx context.Context, httpClient *http.Client, page, code string) error {
	form := url.Values{"user_code": {code}, "username": {s.user}, "password": {s.password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, page, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := httpClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		const excerpt = 512
		text, _ := io.ReadAll(io.LimitReader(response.Body, excerpt))
		return fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

func (s loginSettings) httpClient() (*http.Client, error) {
	authority, err := os.ReadFile(s.caFile)
	if err != nil {
		return nil, fmt.Errorf("read --cacert: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("read --cacert: no certificate in %s", s.caFile)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	if s.connect != "" {
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.connect)
		}
	}
	return &http.Client{Transport: transport}, nil
}

// tokenEndpoint is the party as the library wants it for one single question.
type tokenEndpoint struct{ rp.RelyingParty }

// TokenEndpoint is where tokens are had.
func (t tokenEndpoint) TokenEndpoint() string { return t.OAuthConfig().Endpoint.TokenURL }
