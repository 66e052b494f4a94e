// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

const (
	leaderElectionID = v1alpha1.LeaderElectionID
	metricsCertDir   = "/tmp/k8s-metrics-server/metrics-certs"

	// reconcileTimeout ends a reconcile that waits for something that does not come.
	reconcileTimeout = 2 * time.Minute
	// shutdownTimeout is below the pod's grace period of 30 seconds.
	shutdownTimeout = 20 * time.Second
)

// run starts the manager and returns when the context ends or it cannot go on.
func run(ctx context.Context, c Config, logs io.Writer) error {
	log, err := newLogger(c, logs)
	if err != nil {
		return err
	}
	installLogger(log)
	c, notes := c.Settled()
	notes = append(notes, c.environment(os.LookupEnv)...)
	log.Info("Starting maas-controller", "version", version.Get().String(), "controllerNamespace", c.ControllerNamespace,
		"infraNamespace", c.InfraNamespace, "tenantNamespace", c.SubscriptionNamespace, "gateway", c.GatewayNamespace+"/"+c.GatewayName)
	for _, note := range notes {
		log.Info("Correcting a setting", "correction", note)
	}
	references, err := images.Resolve(os.LookupEnv, os.Environ(), version.Get().Release())
	if err != nil {
		return fmt.Errorf("find the images to run: %w", err)
	}
	restConfig, err := loadConfig(c.Kubeconfig)
	if err != nil {
		return err
	}
	offer := newTLSParameters()
	mgr, err := newManager(restConfig, c, offer)
	if err != nil {
		return err
	}
	own := metrics.New(clock.RealClock{})
	if err := ctrlmetrics.Registry.Register(own); err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	defer ctrlmetrics.Registry.Unregister(own)
	if err := setUp(ctrl.LoggerInto(ctx, log), mgr, c, shared{
		metrics: own, tls: offer, images: references, payload: images.Configured(os.LookupEnv, payload.Image),
	}); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	log.Info("Stopped")
	return nil
}

// loadConfig reads the given kubeconfig, else the pod's ServiceAccount, else what
// kubectl would use.
func loadConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if kubeconfig == "" {
		if inCluster, err := rest.InClusterConfig(); err == nil {
			return withAgent(inCluster), nil
		}
	}
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster; run in a pod, or set --kubeconfig: %w", err)
	}
	return withAgent(loaded), nil
}

// withAgent names the program to the API server, whose priority and fairness
// bounds requests better than a client could.
func withAgent(c *rest.Config) *rest.Config {
	c.UserAgent = "maas-controller/" + version.Get().Version
	c.QPS = -1
	return c
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, inferencev1alpha1.AddToScheme, gwapiv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return scheme, nil
}

func newManager(restConfig *rest.Config, c Config, offer *tlsParameters) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	webhooks, err := webhookServer(c, offer)
	if err != nil {
		return nil, err
	}
	served := &listening{}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                        scheme,
		WebhookServer:                 webhooks,
		Metrics:                       metricsOptions(c, offer, served),
		HealthProbeBindAddress:        c.HealthProbeBindAddress,
		PprofBindAddress:              c.PprofBindAddress,
		LeaderElection:                c.LeaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       c.ControllerNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(shutdownTimeout),
		Cache:                         cacheOptions(c),
		Client:                        clientOptions(),
		Controller:                    config.Controller{ReconciliationTimeout: reconcileTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	if c.MetricsBindAddress == disabled {
		return mgr, nil
	}
	return mgr, readyWhen(mgr, "metrics", served.check)
}

// clientOptions has unstructured objects read from the cache like all others, and
// Secrets never kept in memory.
func clientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		Unstructured: true,
		DisableFor:   []client.Object{&corev1.Secret{}},
	}}
}

func metricsOptions(c Config, offer *tlsParameters, l *listening) metricsserver.Options {
	options := metricsserver.Options{BindAddress: c.MetricsBindAddress, SecureServing: c.MetricsSecure}
	// The server asks for these only once it listens, and nothing else tells so.
	options.HandlerOpts = []func(*promhttp.HandlerOpts){func(*promhttp.HandlerOpts) { l.begin() }}
	if c.MetricsSecure {
		options.CertDir = metricsCertDir
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
		options.TLSOpts = []func(*tls.Config){offer.listener("http/1.1")} // One scraper needs no HTTP/2 and its resets.
	}
	return options
}
