// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/internal/webhook"
)

const (
	// webhookSecret is what config/manager mounts as --webhook-cert-dir.
	webhookSecret = "maas-controller-webhook-cert"
	certFile      = "tls.crt"
	keyFile       = "tls.key"
)

// webhookServer returns the server of the webhooks, or nil when they are switched
// off. Every replica runs it, and it takes up a renewed certificate by itself.
func webhookServer(c Config, offer *tlsParameters) (ctrlwebhook.Server, error) {
	if !c.EnableWebhooks {
		return nil, nil
	}
	host, port, err := splitAddress(c.WebhookBindAddress)
	if err != nil {
		return nil, fmt.Errorf("read --webhook-bind-address: %w", err)
	}
	if c.WebhookCertSource == certsMounted {
		if err := loadCertificate(c.WebhookCertDir); err != nil {
			return nil, fmt.Errorf("load the certificate of the webhooks from --webhook-cert-dir; mount Secret %s there, "+
				"set --webhook-cert-source=%s to have it made, or set --enable-webhooks=false: %w", webhookSecret, certsOwn, err)
		}
	}
	return ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: host, Port: port, CertDir: c.WebhookCertDir, CertName: certFile, KeyName: keyFile,
		TLSOpts: []func(*tls.Config){offer.listener("h2", "http/1.1")},
	}), nil
}

// addWebhooks registers the webhooks. A replica is ready only once it serves them.
func addWebhooks(mgr ctrl.Manager, d dependencies) error {
	if !d.config.EnableWebhooks {
		return nil
	}
	if d.config.WebhookCertSource == certsMounted {
		serveWebhooks(mgr, d)
		return readyWhen(mgr, "webhooks", mgr.GetWebhookServer().StartedChecker())
	}
	if err := renewCertificates(mgr, d.config); err != nil {
		return err
	}
	a := &arrival{dir: d.config.WebhookCertDir, clock: clock.RealClock{}, serve: func() { serveWebhooks(mgr, d) }}
	if err := mgr.Add(a); err != nil {
		return fmt.Errorf("wait for the certificate of the webhooks: %w", err)
	}
	return readyWhen(mgr, "webhooks", func(r *http.Request) error {
		if err := a.check(r); err != nil {
			return err
		}
		return mgr.GetWebhookServer().StartedChecker()(r)
	})
}

// serveWebhooks adds the server to the manager, which starts it, with the handlers.
func serveWebhooks(mgr ctrl.Manager, d dependencies) {
	webhook.Register(mgr.GetWebhookServer(), webhook.Tenants{
		Cached: d.tenants,
		Live:   lookup.Tenants{Reader: mgr.GetAPIReader(), Settings: d.tenants.Settings},
	})
}

func readyWhen(mgr ctrl.Manager, name string, check healthz.Checker) error {
	if err := mgr.AddReadyzCheck(name, check); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

func webhookAddressProblem(value string) string {
	if _, _, err := splitAddress(value); err != nil {
		return fmt.Sprintf("is %q: use [host]:port with a port from 1 to 65535, for example :9443; --enable-webhooks=false switches the webhooks off", value)
	}
	return ""
}

func certDirProblem(value string) string {
	if value == "" {
		return fmt.Sprintf("is empty: name the directory with %s and %s of Secret %s; --enable-webhooks=false switches the webhooks off", certFile, keyFile, webhookSecret)
	}
	return ""
}

// splitAddress takes an address to listen on apart.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("split %q: %w", address, err)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, fmt.Errorf("port %q is not a number from 1 to 65535", text)
	}
	return host, int(number), nil
}
