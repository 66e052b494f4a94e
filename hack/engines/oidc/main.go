// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command oidc is an OpenID Connect provider for development and tests on one
// machine: one issuer, its clients and its users, from a file. Discovery, keys,
// grants and tokens are those of the library github.com/zitadel/oidc; this program
// adds who there is and what their tokens say. It keeps nothing between two
// starts, its signing key included, and listens on loopback addresses only: never
// expose it.
//
// Users log in with the device authorization grant (RFC 8628). It is the one grant
// of the library that yields tokens of users, not of clients, with neither a
// browser nor a password in the hands of the client; the library has no password
// grant.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const intro = `oidc-provider plays an OpenID Connect provider, on one machine, for development
and tests. Never expose it.

Usage: oidc-provider --listen ADDRESS --cert FILE --key FILE --issuer URL --users FILE [flags]
       oidc-provider token --issuer URL --cacert FILE --client ID --user NAME [flags]

The first form serves one issuer until it is interrupted. Who there is:

  clients:
  - id: maas-cli            # "azp" of its tokens, and their "aud"
  - id: other-app
    audience: [account]     # further values of "aud"
    noAuthorizedParty: true # no "azp", as with some providers
  users:
  - name: alice             # "preferred_username"
    subject: 4f8d2c         # "sub"
    groups: [data-science]  # left out: no such claim; []: an empty one
    password: secret        # left out: the name

The second form logs a user in and prints the access token.

Flags of the first form:
`

// settings are the flags of the provider.
type settings struct {
	listen, cert, key string
	issuer, users     string
	lifetime          time.Duration
	mint              bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "oidc-provider:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	if len(args) > 0 && args[0] == "token" {
		return printToken(ctx, args[1:], out, errOut)
	}
	s, err := parse(args, errOut)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(errOut, nil))) // The library logs there.
	return serve(ctx, s)
}

// parse reads the command line.
func parse(args []string, errOut io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("oidc-provider", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprint(errOut, intro)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "loopback address to listen on")
	flags.StringVar(&s.cert, "cert", "", "file with the certificate and those that follow it")
	flags.StringVar(&s.key, "key", "", "file with the key of the certificate")
	flags.StringVar(&s.issuer, "issuer", "", `"iss" of every token, to the letter; its path, if any, is where everything is served`)
	flags.StringVar(&s.users, "users", "", "file (YAML or JSON) with clients and users")
	flags.DurationVar(&s.lifetime, "token-lifetime", 10*time.Minute, "how long tokens are valid, in whole seconds")
	flags.BoolVar(&s.mint, "test-only-mint", false, "sign whatever claims anybody sends to ISSUER"+mintPath+"; for tests only")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.cert == "" || s.key == "" || s.issuer == "" || s.users == "":
		return s, errors.New("--cert, --key, --issuer and --users are required")
	case s.lifetime < time.Second:
		return s, fmt.Errorf("--token-lifetime %s is less than a second", s.lifetime)
	}
	return s, nil
}

// serve answers until the context ends.
func serve(ctx context.Context, s settings) error {
	const grace = 2 * time.Second
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return fmt.Errorf("load --cert and --key: %w", err)
	}
	who, err := readAccounts(s.users)
	if err != nil {
		return err
	}
	handler, err := newProvider(s, who)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	slog.InfoContext(ctx, "Serving", "issuer", s.issuer, "address", listener.Addr().String())
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		stopped <- server.Shutdown(within)
	})
	defer end()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}

// listen refuses addresses that another machine could reach.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("--listen %s is no loopback address", address)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}
