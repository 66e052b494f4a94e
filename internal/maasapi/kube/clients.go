// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile/follow"
)

const (
	// clientQPS and clientBurst bound the requests per second of each client. The
	// library's defaults of 5 and 10 would make admins wait for each other.
	clientQPS   = 200
	clientBurst = 400

	// secretTimeout bounds the reading of a Secret.
	secretTimeout = 10 * time.Second
)

// ErrNoDatabaseURL says that the Secret exists and does not hold the address of the
// database.
var ErrNoDatabaseURL = errors.New("the Secret holds no database URL")

// Clients are the connections to one API server that the types of this package
// share. Any number of goroutines may use them.
type Clients struct {
	dynamic        dynamic.Interface
	version        rest.Interface
	core           corev1client.CoreV1Interface
	authentication authenticationv1client.AuthenticationV1Interface
	authorization  authorizationv1client.AuthorizationV1Interface
}

// NewClients makes clients for the API server of a configuration, which is not
// modified. Nothing is sent yet.
func NewClients(config *rest.Config) (*Clients, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = clientQPS, clientBurst
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection to the API server: %w", err)
	}
	c := &Clients{}
	var errs [5]error
	c.dynamic, errs[0] = dynamic.NewForConfigAndClient(config, transport)
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	errs[1] = err
	c.core, errs[2] = corev1client.NewForConfigAndClient(config, transport)
	c.authentication, errs[3] = authenticationv1client.NewForConfigAndClient(config, transport)
	c.authorization, errs[4] = authorizationv1client.NewForConfigAndClient(config, transport)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make clients of the API server: %w", err)
	}
	c.version = discover.RESTClient()
	return c, nil
}

// alive asks the API server for its version, which everybody may, on the connection
// that the watches use.
func (c *Clients) alive(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.version.Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	return nil
}

// DatabaseURL reads a key of a Secret, which is the database's address. It returns
// [ErrNoDatabaseURL] when the key is missing or empty. No error holds the value.
func (c *Clients) DatabaseURL(ctx context.Context, namespace, name, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	secret, err := c.core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	value := string(secret.Data[key])
	if value == "" {
		return "", fmt.Errorf("read key %s of Secret %s/%s: %w", key, namespace, name, ErrNoDatabaseURL)
	}
	return value, nil
}

// TLSProfile returns what follows the TLS profile of the cluster.
func (c *Clients) TLSProfile(clk clock.Clock, log *slog.Logger) *follow.Profile {
	return follow.New(c.dynamic, clk, log)
}
