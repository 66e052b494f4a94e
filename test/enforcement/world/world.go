// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// patience is how long something may take on a busy machine.
	patience = 3 * time.Minute
	poll     = 50 * time.Millisecond
	// grace is more than the gateways take to end.
	grace = 10 * time.Second
)

// SimulatorModel is the name under which the simulator serves.
const SimulatorModel = "simulated"

// errEnded is final: what has ended does not come to be ready.
var errEnded = errors.New("it ended")

// Options adjust a world. The zero value is the usual one.
type Options struct {
	// Simulator also runs the model simulator, for models that are [Model.Simulated].
	Simulator bool
	// SimulatorArgs are further arguments of the simulator.
	SimulatorArgs []string
	// Provider also runs a provider of models outside of the cluster, which the gateways
	// find at [ProviderHost].
	Provider bool
	// Args are further arguments of the operator; of two the last counts.
	Args []string
	// KuadrantEnv are further settings of Kuadrant's operator, as NAME=value; of two the
	// last counts.
	KuadrantEnv []string
	// AuthorinoArgs are further arguments of Authorino; of two the last counts.
	AuthorinoArgs []string
	// Log receives one line per step; nil discards them.
	Log io.Writer
}

// World is what [Start] has set up. Its methods are safe for concurrent use, except
// for Stop.
type World struct {
	// Default and Red are the tenants.
	Default, Red *Tenant
	// Stage is the control plane with the operator and the Pods of maas-api.
	Stage *stage.Stage
	// Admin reads and writes as the cluster's administrator, without a cache.
	Admin client.Client
	// Kuadrant and Authorino are the engines, Names is how they find the services of the
	// cluster.
	Kuadrant  *engines.Kuadrant
	Authorino *engines.Authorino
	Names     *engines.NameProxy
	// Upstream is the server behind models that are not simulated.
	Upstream *Upstream
	// Provider is outside of the cluster; nil unless asked for.
	Provider *Provider

	options   Options
	parts     *installation.Parts
	roots     *x509.CertPool
	dir       string
	simulator string
	log       io.Writer

	mu   sync.Mutex // guards ends
	ends []func() error
}

// Start sets everything up, or ends again what it had started. It returns when both
// tenants are served.
func Start(ctx context.Context, o Options) (_ *World, err error) {
	w := &World{log: o.Log, options: o}
	if w.log == nil {
		w.log = io.Discard
	}
	w.Default, w.Red = newTenants(w)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the world: %w", err), w.Stop())
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context, Options) error
	}{
		{"programs and the database", w.prepare},
		{"the control plane", w.startStage},
		{"the engines", w.startEngines},
		{"the tenants", w.startTenants},
	} {
		begin := time.Now()
		if err := step.do(ctx, o); err != nil {
			return nil, err
		}
		fmt.Fprintf(w.log, "world: %s after %s\n", step.name, time.Since(begin).Round(time.Millisecond))
	}
	return w, nil
}

// Tenants are both of them.
func (w *World) Tenants() []*Tenant { return []*Tenant{w.Default, w.Red} }

func (w *World) prepare(ctx context.Context, _ Options) (err error) {
	if w.dir, err = os.MkdirTemp("", "maas-world-"); err != nil {
		return err
	}
	w.onStop(func() error { return os.RemoveAll(w.dir) })
	targets := []string{"gateway", "nsrun", "oidc", "authorino", "kuadrant"}
	w.parts, err = installation.Prepare(ctx, installation.Options{Dir: w.dir, Targets: targets, Log: w.log})
	if err != nil {
		return err
	}
	w.onStop(w.parts.Stop)
	return nil
}

func (w *World) startStage(ctx context.Context, o Options) (err error) {
	for _, t := range w.Tenants() {
		if t.address, err = testenv.FreeAddress(ctx); err != nil {
			return err
		}
		if t.admin, err = testenv.FreeAddress(ctx); err != nil {
			return err
		}
	}
	image := installation.Program(w.parts.Programs[installation.MaaSAPI], w.gatewayHere)
	w.Stage, err = stage.Start(ctx, stage.Options{
		Binary: w.parts.Programs[installation.Operator], Args: o.Args, Tenants: true, Controllers: true,
		WithoutOperator: true, WithoutKuadrant: true, Env: []string{installation.ImageEnv},
		CRDs: append(engines.KuadrantCRDs(), testenv.MaaS, testenv.KServe, testenv.OpenShift),
		Workload: &workload.Options{
			Images:       map[string]workload.Program{installation.Image: image},
			Certificates: []workload.CertificateMaker{workload.ServiceCA}, Dir: filepath.Join(w.dir, "workload"), Log: w.log,
		},
		Log: w.log,
	})
	if err != nil {
		return err
	}
	w.onStop(w.Stage.Stop)
	w.Admin = w.Stage.Admin
	authority, err := w.Stage.Env.ServerAuthority()
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	w.roots = x509.NewCertPool()
	if !w.roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", authority)
	}
	return w.Create(ctx, installation.DatabaseSecret(w.parts.Database()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: OtherNamespace}})
}

// gatewayHere is where a Gateway is here, for maas-api.
func (w *World) gatewayHere(name string) (address, authority string, err error) {
	authority, err = w.Stage.Env.ServerAuthority()
	for _, t := range w.Tenants() {
		if t.Gateway.Name == name {
			address = t.address
		}
	}
	return address, authority, err
}

// Err says that something of the world ended by itself.
func (w *World) Err() error {
	errs := []error{w.Kuadrant.Err(), w.Authorino.Err()}
	for _, t := range w.Tenants() {
		errs = append(errs, t.OIDC.Err())
		if !t.process.Alive() {
			errs = append(errs, fmt.Errorf("%s ended by itself: %s", t.process.Name, t.process.Excerpt()))
		}
	}
	return errors.Join(errs...)
}

// Stop ends everything, the last started first.
func (w *World) Stop() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, end := range slices.Backward(w.ends) {
		errs = append(errs, end())
	}
	w.ends = nil
	return errors.Join(errs...)
}

func (w *World) onStop(end func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, end)
}

// transport trusts what is started here, and connects to one address whatever the name
// is; empty: to the one that is named.
func (w *World) transport(address string) *http.Transport {
	dialer := &net.Dialer{}
	return &http.Transport{
		DisableKeepAlives: true, // Another Pod may answer next.
		TLSClientConfig:   &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, named string) (net.Conn, error) {
			if address != "" {
				named = address
			}
			return dialer.DialContext(ctx, network, named)
		},
	}
}

// Eventually tries again until there is no error; the last one is told.
func Eventually(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		if errors.Is(last, errEnded) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w: %w", what, err, last)
	}
	return nil
}
