// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs one stand-in beside a suite or inside a child process: a
// controller-runtime manager without leader election, metrics or probes, with
// an explicit start and stop. It knows nothing about what a stand-in does and
// must not be used by production code.
package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	syncTimeout = 3 * time.Minute
	stopTimeout = 30 * time.Second
	requestRate = 200
)

// Config describes one stand-in to run.
type Config struct {
	// Name appears in the user agent, hence in the audit log.
	Name string
	// Scheme holds the typed objects the stand-in reads.
	Scheme *runtime.Scheme
	// Requires lists the kinds that must be served before the start.
	Requires []schema.GroupVersionKind
	// Setup registers the controllers of the stand-in.
	Setup func(context.Context, ctrl.Manager) error
	// Logger receives what the stand-in reports; the zero value discards it.
	Logger logr.Logger
}

// GatewayAPI returns a kind of Gateway API in the version the stand-ins use.
func GatewayAPI(kind string) schema.GroupVersionKind {
	return schema.GroupVersion(gwapiv1.GroupVersion).WithKind(kind)
}

// Host is a running stand-in.
type Host struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// Start runs a stand-in until Stop. The context bounds only the start, which
// ends when all caches are filled.
func Start(ctx context.Context, cfg *rest.Config, c Config) (*Host, error) {
	mgr, err := newManager(cfg, c)
	if err != nil {
		return nil, fmt.Errorf("create manager of %s stand-in: %w", c.Name, err)
	}
	for _, gvk := range c.Requires {
		if _, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, fmt.Errorf("start %s stand-in: kind %s is not served, install its CRD first: %w", c.Name, gvk, err)
		}
	}
	if err := c.Setup(ctx, mgr); err != nil {
		return nil, fmt.Errorf("set up %s stand-in: %w", c.Name, err)
	}

	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Host{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.err = mgr.Start(runCtx)
	}()
	if err := h.waitSynced(ctx, mgr); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s stand-in: %w", c.Name, err), h.Stop())
	}
	return h, nil
}

// Stop ends the stand-in and returns when it is gone. Stopping twice is fine.
func (h *Host) Stop() error {
	h.cancel()
	select {
	case <-h.done:
		return h.err
	case <-time.After(stopTimeout):
		return fmt.Errorf("stand-in did not end within %s", stopTimeout)
	}
}

// Done is closed when the stand-in has ended for any reason.
func (h *Host) Done() <-chan struct{} { return h.done }

func (h *Host) waitSynced(ctx context.Context, mgr ctrl.Manager) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	synced := make(chan bool, 1)
	go func() { synced <- mgr.GetCache().WaitForCacheSync(ctx) }()
	select {
	case ok := <-synced:
		if !ok {
			return errors.New("caches were not filled in time")
		}
		return nil
	case <-h.done:
		return fmt.Errorf("manager ended: %w", h.err)
	}
}

func newManager(cfg *rest.Config, c Config) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = c.Name + "-standin"
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = requestRate, 2*requestRate
	}
	logger := c.Logger
	if logger.GetSink() == nil {
		logger = logr.Discard()
	}
	// A suite may run several environments in one process.
	skip := true
	return ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                 c.Scheme,
		Logger:                 logger.WithName(c.Name + "-standin"),
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		PprofBindAddress:       "",
		Controller:             config.Controller{SkipNameValidation: &skip},
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
}
