// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gateway is a STAND-IN for the gateway in front of maas-api and the
// models, for development and tests on one machine. It is no gateway: it has no
// rate limits, one listener, and an identity table instead of an authorization
// server. Never run it where somebody else can reach it; it listens on loopback
// addresses only.
//
// What it does as a gateway does: it terminates TLS, routes by the HTTPRoute
// objects of one Gateway that it watches on the API server, rewrites paths, adds
// the headers a gateway adds, and asks maas-api's callbacks before it lets a
// request pass. Who is calling is decided behind the interface [Identifier], so
// that a real authorization server can take that place.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const intro = `gateway-standin plays the gateway in front of maas-api and the models, on one
machine, for development and tests. It is a stand-in: never expose it.

It routes by the HTTPRoutes of one Gateway, which it watches on the API server,
and guards a model's route as the AuthPolicy generated for the model says which
targets that route; a route without one is refused.

Usage: gateway-standin --kubeconfig FILE --maas-api URL --identities FILE [flags]

The file of identities maps credentials (what follows "Bearer ") to callers:

  alice-token: {username: alice, groups: [data-science]}
  robot-token: {username: robot, groups: [], subscription: gold}
  stale-token: refuse

API keys (sk-oai-...) need no entry: maas-api is asked about them.

Flags:
`

// settings are the flags.
type settings struct {
	listen, addressFile          string
	hostnames, cert, key, caOut  string
	kubeconfig, gateway, apiName string
	api, apiCA                   string
	identities                   string
	backends                     backendFlag
	backendCA                    string
	insecure, keyHeader          bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gateway-standin:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("gateway-standin", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprint(out, intro)
		f.PrintDefaults()
	}
	f.StringVar(&s.listen, "listen", "127.0.0.1:0", "loopback `address` to serve HTTPS on; port 0 takes a free one")
	f.StringVar(&s.addressFile, "address-file", "", "`file` to write the address served on to, once it is")
	f.StringVar(&s.hostnames, "hostnames", "maas.example.com", "comma-separated `names` that a made certificate is for, beside loopback ones")
	f.StringVar(&s.cert, "tls-cert", "", "certificate `file`; without it one is made at start")
	f.StringVar(&s.key, "tls-key", "", "key `file` of --tls-cert")
	f.StringVar(&s.caOut, "ca-out", "", "`file` to write the certificate to that clients must trust when one is made")
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the API server with the routes (required)")
	f.StringVar(&s.gateway, "gateway", "openshift-ingress/maas-default-gateway", "`<namespace>/<name>` of the Gateway that is played")
	f.StringVar(&s.apiName, "maas-api-route", "maas-api-route", "`name` of the HTTPRoutes that lead to maas-api: they need an identity and no model")
	f.StringVar(&s.api, "maas-api", "", "`URL` at which maas-api serves its callbacks (required)")
	f.StringVar(&s.apiCA, "maas-api-ca", "", "`file` with the authority of maas-api's certificate")
	f.StringVar(&s.identities, "identities", "", "`file` of identities (required)")
	f.Var(&s.backends, "backend", "`place` of a backend of the routes, <namespace>/<service>[:<port>]=http[s]://127.0.0.1:<port>; repeat it for each")
	f.StringVar(&s.backendCA, "backend-ca", "", "`file` with the authorities of https backends")
	f.BoolVar(&s.insecure, "backend-insecure", false, "do not verify certificates of backends and of maas-api, as the product's own DestinationRule does not")
	f.BoolVar(&s.keyHeader, "key-header", false, "accept API keys in X-Api-Key on the routes of maas-api too")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("there is no argument %q: see --help", f.Arg(0))
	}
	for name, value := range map[string]string{"kubeconfig": s.kubeconfig, "maas-api": s.api, "identities": s.identities} {
		if value == "" {
			return s, fmt.Errorf("--%s is required: see --help", name)
		}
	}
	if (s.cert == "") != (s.key == "") {
		return s, errors.New("--tls-cert and --tls-key belong together")
	}
	return s, onlyLoopback("--listen", s.listen)
}

// onlyLoopback refuses addresses that others can reach.
func onlyLoopback(what, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s %q is no address: write 127.0.0.1:<port>", what, address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s %q is no loopback address: a stand-in must not be reachable from elsewhere", what, address)
	}
	return nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(out, nil))
	who, err := newTable(s, log)
	if err != nil {
		return err
	}
	backendRoots, err := roots(s.backendCA)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("read --kubeconfig: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	routes := &routing{gateway: s.gateway, apiName: s.apiName}
	p := newProxy(routes, who, s.backends, trust(backendRoots, s.insecure), log)
	defer p.transport.CloseIdleConnections()
	if err := watch(ctx, client, routes, log); err != nil {
		return err
	}
	return serve(ctx, s, p, log)
}

// serve serves until the context ends.
func serve(ctx context.Context, s settings, handler http.Handler, log *slog.Logger) error {
	certificate, err := certificateOf(s)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	if s.addressFile != "" {
		if err := os.WriteFile(s.addressFile, []byte(listener.Addr().String()), 0o600); err != nil {
			return errors.Join(fmt.Errorf("write --address-file: %w", err), listener.Close())
		}
	}
	log.Info("Playing the gateway", "address", listener.Addr().String(), "gateway", s.gateway)
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("shut down: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// roots are the authorities in a file; nil without one means the system's.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

func trust(pool *x509.CertPool, insecure bool) *tls.Config {
	return &tls.Config{RootCAs: pool, InsecureSkipVerify: insecure, MinVersion: tls.VersionTLS12}
}

// bearerPrefix starts the value of Authorization.
const bearerPrefix = "Bearer "

func bearer(header http.Header) string {
	text, found := strings.CutPrefix(header.Get("Authorization"), bearerPrefix)
	if !found {
		return ""
	}
	return text
}
