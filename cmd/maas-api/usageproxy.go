// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

// ownToken is where Kubernetes puts the token of a pod's ServiceAccount.
const ownToken = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // The name of a file, not its content.

const usageProxyHelp = `Let users of the cluster read their own usage records in a log store that knows no users.

The token of each request is reviewed by the Kubernetes API. Queries are narrowed to the
records of --namespace and of the token's user, and asked with the token of --token-file.
/health and /ready need no token; everything else but GET on query, query_range, labels and
label/<name>/values below /loki/api/v1 is refused.`

func usageProxyCommand(run program, environment map[string]string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "usage-proxy", Short: "Let users read their own usage records, until a signal ends it", Args: cobra.NoArgs,
		Long: usageProxyHelp,
	}
	settings := bind(cmd, []config.Group{config.GroupGeneral, config.GroupTLS})
	var in invocation
	address := cmd.Flags().String("address", ":8443", "address to listen on")
	cmd.Flags().StringVar(&in.URL, "upstream-url", "", "URL of the log store, for example https://usage-gateway-http.monitoring.svc:8080/api/logs/v1/application")
	cmd.Flags().StringVar(&in.CAFile, "upstream-ca-file", "", "path of further certificate authorities in PEM that the certificate of --upstream-url may come from; a renewed file is taken up without a restart")
	cmd.Flags().StringVar(&in.TokenFile, "token-file", ownToken, "path of the token that the log store is asked with; it is read each time")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if in.URL == "" {
			return errors.New("--upstream-url is missing: give the URL of the log store")
		}
		return settings.run(cmd, environment, func(ctx context.Context, loaded invocation) error {
			loaded.Config.Address = *address
			if !loaded.Config.Secure {
				return errors.New("usage-proxy serves HTTPS only, because tokens are sent to it: give --tls-cert and --tls-key, or --tls-self-signed to try it out")
			}
			return run(ctx, loaded)
		}, in)
	}
	return cmd
}

// usageProxy is the sub-command of that name.
func usageProxy(ctx context.Context, in invocation) error {
	log := newLogger(in.Config.General, in.Out).With(slog.String("service", "usage-proxy"))
	return runService(ctx, in, log, (*service).startUsageProxy)
}

// startUsageProxy opens the one listener of the proxy.
func (s *service) startUsageProxy(ctx context.Context) error {
	upstream, err := url.Parse(s.in.URL)
	if err != nil {
		return errors.New("--upstream-url is no URL: write it like https://usage-gateway-http.monitoring.svc:8080/api/logs/v1/application")
	}
	loaded, err := restConfig(s.in)
	if err != nil {
		return err
	}
	if s.clients, err = kube.NewClients(loaded); err != nil {
		return err
	}
	reviewer, err := kube.NewReviewer(kube.ReviewerOptions{
		Clients: s.clients, Namespace: s.config.Namespace, Clock: s.clock, Registerer: prometheus.NewRegistry(), // Nobody looks at it.
	})
	if err != nil {
		return err
	}
	s.health = server.NewHealth(s.log)
	health, ready := healthHandlers(s.health)
	proxy, err := usageproxy.New(usageproxy.Options{
		Reviewer: usersOf(reviewer), Upstream: upstream, CAFile: s.in.CAFile, TokenFile: s.in.TokenFile, Namespace: s.config.Namespace,
		Health: health, Ready: ready, Clock: s.clock, Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("make the usage proxy (--upstream-url, --namespace, --token-file): %w", err)
	}
	s.health.Set(server.Check{Name: "log-store-access", Ready: proxy.Ready})
	s.run("hold connections to the log store", func(ctx context.Context) error {
		<-ctx.Done()
		proxy.Close()
		return nil
	})
	encryption, err := s.encryption(ctx)
	if err != nil {
		return err
	}
	listener, err := s.listen(ctx, server.ListenerOptions{
		Name: "usage-proxy", Address: s.config.Address, Handler: proxy, Timeouts: server.APITimeouts(usageproxy.Longest), TLS: encryption,
	})
	if err != nil {
		return err
	}
	s.listeners = append(s.listeners, listener)
	s.log.Info("Ready for requests", slog.String("version", version.Get().Version))
	return nil
}

// healthHandlers are those of the health endpoints, under whatever paths.
func healthHandlers(h *server.Health) (health, ready http.Handler) {
	for _, route := range h.Routes(httpapi.Public) {
		switch route.Pattern {
		case "/health":
			health = route.Handler
		case "/readyz":
			ready = route.Handler
		}
	}
	return health, ready
}

// usersOf has the proxy hear of names only.
func usersOf(reviewer *kube.Reviewer) usageproxy.Reviewer {
	return func(ctx context.Context, token string) (string, error) {
		user, err := reviewer.ReviewToken(ctx, token)
		if errors.Is(err, kube.ErrUnauthenticated) {
			return "", usageproxy.ErrUnauthenticated
		}
		return user.Username, err
	}
}
