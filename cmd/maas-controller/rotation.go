// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Where the certificate of the webhooks comes from.
const (
	// certsMounted: somebody else fills the Secret: OLM, OpenShift or cert-manager.
	certsMounted = "mounted"
	// certsOwn: this program fills and renews the Secret, and tells the API server
	// whom to trust.
	certsOwn = "own"
)

func certSources() []string { return []string{certsMounted, certsOwn} }

const (
	webhookService       = "maas-controller-webhook-service"
	webhookConfiguration = "maas-validating-webhook-configuration"

	// certificatePoll is how often it is looked whether the certificate has arrived.
	certificatePoll = time.Second
)

// errNoCertificate is what /readyz says until then.
var errNoCertificate = errors.New("the certificate of the webhooks is not there yet")

// renewCertificates has the leader make the certificate of the webhooks, renew it
// before it ends, and write its authority into the webhook configuration. The files
// come by the mounted Secret, on every replica.
func renewCertificates(mgr ctrl.Manager, c Config) error {
	service := webhookService + "." + c.ControllerNamespace + ".svc"
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:             types.NamespacedName{Namespace: c.ControllerNamespace, Name: webhookSecret},
		CertDir:               c.WebhookCertDir,
		CAName:                "maas-controller-webhook-ca",
		CAOrganization:        "maas-controller",
		DNSName:               service,
		ExtraDNSNames:         []string{service + ".cluster.local"},
		IsReady:               make(chan struct{}),
		Webhooks:              []rotator.WebhookInfo{{Name: webhookConfiguration, Type: rotator.Validating}},
		FieldOwner:            v1alpha1.FieldOwner,
		RequireLeaderElection: true,
	})
	if err != nil {
		return fmt.Errorf("renew the certificate of the webhooks: %w", err)
	}
	return nil
}

// arrival serves the webhooks once their certificate has arrived, on every replica.
type arrival struct {
	dir   string
	clock clock.WithTicker
	serve func()
	there atomic.Bool
}

// Start implements manager.Runnable.
func (a *arrival) Start(ctx context.Context) error {
	tick := a.clock.NewTicker(certificatePoll)
	defer tick.Stop()
	for {
		if loadCertificate(a.dir) == nil {
			a.serve()
			a.there.Store(true)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*arrival) NeedLeaderElection() bool { return false }

func (a *arrival) check(*http.Request) error {
	if !a.there.Load() {
		return errNoCertificate
	}
	return nil
}

// loadCertificate tells what is wrong with the certificate in a directory, or nil.
func loadCertificate(dir string) error {
	_, err := tls.LoadX509KeyPair(filepath.Join(dir, certFile), filepath.Join(dir, keyFile))
	return err
}
