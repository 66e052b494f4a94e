// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

// What Authorino listens on in its network namespace. The second is its raw HTTP
// interface, which shows neither paths nor metadata as the gateway's does: it is not
// led outside.
const (
	authorinoGRPC    = "50051"
	authorinoHTTP    = "5001"
	authorinoOIDC    = "8083"
	authorinoMetrics = "8080"
	authorinoProbes  = "8081"
)

// AuthorinoOptions say how Authorino is run.
type AuthorinoOptions struct {
	// Kubeconfig is the file that it uses, for AuthConfigs and for token reviews.
	// Required.
	Kubeconfig string
	// Proxy is the URL of a proxy that names are reached through, as by
	// [NameProxy.URL]; empty means that it reaches nothing but the API server.
	Proxy string
	// CAFile holds all authorities whose certificates it trusts; without one, callbacks
	// and issuers fail.
	CAFile string
	// Args are further arguments; of two the last counts.
	Args []string
	// Bin is the program; empty means the one in bin, built if it has to be.
	Bin string
	// Dir receives the log; empty means a temporary directory that goes with it.
	Dir string
	// Keep lets it outlive this process.
	Keep bool
	// Started, unless nil, is told of the process as soon as there is one.
	Started func(*process.Process) error
	// Out receives the progress of a build; nil discards it.
	Out io.Writer
}

// Authorino is a running Authorino, which decides as every AuthConfig of the cluster
// says.
type Authorino struct {
	Process
	// GRPC is the loopback address of its service envoy.service.auth.v3.Authorization,
	// as gateways use it, without TLS.
	GRPC string
	// Metrics is the URL of its metrics, those of AuthConfigs are below
	// "/server-metrics" beside it.
	Metrics string
}

// StartAuthorino builds the program if it has to be built, and returns an Authorino
// that answers. It decides as an AuthConfig says once that one's status is Ready. The
// CRD of AuthConfigs must be installed. The context bounds the start only: what ends it
// is Stop.
func StartAuthorino(ctx context.Context, o AuthorinoOptions) (*Authorino, error) {
	addresses, err := freeAddresses(ctx, 3)
	if err != nil {
		return nil, fmt.Errorf("start Authorino: %w", err)
	}
	grpc, metrics, probes := addresses[0], addresses[1], addresses[2]
	l := launch{
		target: "authorino", name: "authorino", bin: o.Bin, dir: o.Dir, kubeconfig: o.Kubeconfig,
		args: append([]string{
			"server", "--allow-superseding-host-subsets",
			"--ext-auth-grpc-port", authorinoGRPC, "--ext-auth-http-port", authorinoHTTP, "--oidc-http-port", authorinoOIDC,
			"--metrics-addr", inside(authorinoMetrics), "--health-probe-addr", inside(authorinoProbes),
		}, o.Args...),
		in:   map[string]string{grpc: inside(authorinoGRPC), metrics: inside(authorinoMetrics), probes: inside(authorinoProbes)},
		keep: o.Keep, started: o.Started, log: o.Out, ready: "http://" + probes + "/healthz",
	}
	if o.CAFile != "" {
		// Nothing else is trusted: not what the machine trusts.
		l.env = append(l.env, "SSL_CERT_FILE="+o.CAFile, "SSL_CERT_DIR=/dev/null")
	}
	if o.Proxy != "" {
		proxy, err := url.Parse(o.Proxy)
		if err != nil {
			return nil, fmt.Errorf("start Authorino: read the proxy's address: %w", err)
		}
		l.env, l.out = append(l.env, "HTTPS_PROXY="+o.Proxy), append(l.out, proxy.Host)
	}
	a := &Authorino{GRPC: grpc, Metrics: "http://" + metrics + "/metrics"}
	if err := a.start(ctx, l); err != nil {
		return nil, errors.Join(fmt.Errorf("start Authorino: %w", err), a.abort())
	}
	return a, nil
}

// Stop ends Authorino. One that had ended by itself is an error.
func (a *Authorino) Stop() error { return a.stop() }
