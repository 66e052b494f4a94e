// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gateway is a STAND-IN for the gateway in front of maas-api and the
// models, for development and tests on one machine. It is no gateway: it has one
// listener, and an identity table instead of an authorization server and limits, or
// else what it is told by generated configuration. Never run it where somebody else
// can reach it; it listens on loopback addresses only.
//
// What it does as a gateway does: it terminates TLS, routes by the HTTPRoute
// objects of one Gateway that it watches on the API server, rewrites paths, adds
// the headers a gateway adds, and asks maas-api's callbacks before it lets a
// request pass. Who is calling is decided behind the interface [Identifier].
//
// With --engine it holds no rule at all. It executes what kuadrant-operator has
// generated for the gateway, as the proxy's filter and Limitador would, of which
// the packages filter and limiter are stand-ins, and asks a real Authorino. Without
// that configuration everything passes, as through a proxy without its filter.
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
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/opendatahub-io/maas-operator/hack/loopback"
)

const intro = `gateway-standin plays the gateway in front of maas-api and the models, on one
machine, for development and tests. It is a stand-in: never expose it.

It routes by the HTTPRoutes of one Gateway, which it watches on the API server,
and guards a model's route as the AuthPolicy generated for the model says which
targets that route; a route without one is refused.

Usage: gateway-standin --kubeconfig FILE --maas-api URL --identities FILE [flags]
       gateway-standin --kubeconfig FILE --engine --authorino HOST:PORT [flags]

With --engine, the policies are not read. Requests are judged by what
kuadrant-operator generated of them alone: the filter's configuration in EnvoyFilter
kuadrant-<gateway>, and the limits of the Limitador. Without an EnvoyFilter every
request passes; one that cannot be executed refuses every request.

Without it, the file of identities maps credentials (what follows "Bearer ") to
callers:

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
	outside                      placesFlag
	outsideCA                    string
	providerKeys                 bool

	engine                                 bool
	authorino, limitador, admin, adminFile string
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
	f.Var(&s.outside, "outside", "`place` of a host outside of the cluster, <host>:<port>=127.0.0.1:<port>; with one, --engine follows Services of type ExternalName as ServiceEntries and DestinationRules say; repeat it for each")
	f.StringVar(&s.outsideCA, "outside-ca", "", "`file` with the authorities of hosts outside; without it the system's")
	f.BoolVar(&s.providerKeys, "provider-keys", false, "play payload processing behind the filter of --engine: add the API keys of ExternalModels of either group, and nothing else")
	f.BoolVar(&s.engine, "engine", false, "judge requests by generated configuration alone")
	f.StringVar(&s.authorino, "authorino", "", "loopback `address` of Authorino's gRPC interface (required with --engine)")
	f.StringVar(&s.limitador, "limitador", "kuadrant-system/limitador", "`<namespace>/<name>` of the Limitador whose limits --engine evaluates")
	f.StringVar(&s.admin, "admin", "", "loopback `address` at which --engine tells tests what it decided and counted; port 0 takes a free one")
	f.StringVar(&s.adminFile, "admin-address-file", "", "`file` to write the address of --admin to, once it is served")
	f.BoolVar(&s.keyHeader, "key-header", false, "accept API keys in X-Api-Key on the routes of maas-api too")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("there is no argument %q: see --help", f.Arg(0))
	}
	if err := s.complete(); err != nil {
		return s, err
	}
	if (s.cert == "") != (s.key == "") {
		return s, errors.New("--tls-cert and --tls-key belong together")
	}
	return s, onlyLoopback("--listen", s.listen)
}

// complete tells what is missing, or makes no sense together.
func (s settings) complete() error {
	required := map[string]string{"kubeconfig": s.kubeconfig, "maas-api": s.api, "identities": s.identities}
	useless := map[string]string{
		"authorino": s.authorino, "admin": s.admin, "admin-address-file": s.adminFile, "outside": s.outside.String(), "outside-ca": s.outsideCA,
	}
	if s.providerKeys {
		useless["provider-keys"] = "true"
	}
	if s.engine {
		required = map[string]string{"kubeconfig": s.kubeconfig, "authorino": s.authorino}
		useless = map[string]string{"maas-api": s.api, "maas-api-ca": s.apiCA, "identities": s.identities}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if required[name] == "" {
			return fmt.Errorf("--%s is required: see --help", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(useless)) {
		if useless[name] != "" {
			return fmt.Errorf("--%s has no meaning with --engine=%t: see --help", name, s.engine)
		}
	}
	if s.engine && strings.Count(s.limitador, "/") != 1 {
		return fmt.Errorf("--limitador %q is no name: write <namespace>/<name>", s.limitador)
	}
	if s.authorino != "" {
		if err := onlyLoopback("--authorino", s.authorino); err != nil {
			return err
		}
	}
	if s.admin != "" {
		return onlyLoopback("--admin", s.admin)
	}
	return nil
}

// onlyLoopback refuses addresses that others can reach.
func onlyLoopback(what, address string) error {
	if err := loopback.Check(address); err != nil {
		return fmt.Errorf("%s %w", what, err)
	}
	return nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(out, nil))
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
	p := newProxy(&routing{gateway: s.gateway, apiName: s.apiName}, s.backends, trust(backendRoots, s.insecure), log)
	defer p.transport.CloseIdleConnections()
	if s.engine {
		return runEngine(ctx, s, p, client, log)
	}
	if p.who, err = newTable(s, log); err != nil {
		return err
	}
	if err := watch(ctx, client, p.routes, log); err != nil {
		return err
	}
	return serve(ctx, s, p, log)
}

// runEngine executes generated configuration until the context ends.
func runEngine(ctx context.Context, s settings, p *proxy, client dynamic.Interface, log *slog.Logger) error {
	connection, err := dialAuthorization(s.authorino)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	e, err := newEngine(p, authv3.NewAuthorizationClient(connection), log)
	if err != nil {
		return err
	}
	if err := p.leadOut(ctx, client, s, log); err != nil {
		return err
	}
	if err := e.watch(ctx, client, s); err != nil {
		return err
	}
	if s.admin != "" {
		if err := e.serveAdmin(ctx, s); err != nil {
			return err
		}
	}
	return serve(ctx, s, e, log)
}

// leadOut has the proxy reach hosts outside of the cluster, if any are known.
func (p *proxy) leadOut(ctx context.Context, client dynamic.Interface, s settings, log *slog.Logger) error {
	if s.providerKeys {
		p.providers = &providers{client: client}
	}
	if len(s.outside) == 0 {
		return nil
	}
	authorities, err := roots(s.outsideCA)
	if err != nil {
		return err
	}
	p.exits = &exits{places: s.outside, authorities: authorities, log: log}
	namespace, _, _ := strings.Cut(s.gateway, "/")
	return p.exits.watch(ctx, client, namespace)
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
