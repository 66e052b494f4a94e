// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// stopGrace is more than the operator takes to end in good order.
const stopGrace = 35 * time.Second

// Build compiles the operator into a directory and returns the program's path.
func Build(ctx context.Context, dir string) (string, error) {
	return program.Build(ctx, dir, "maas-controller")
}

// Operator is the operator's program, run as a process. Its methods are not
// safe for concurrent use.
type Operator struct {
	env         *testenv.Env
	binary      string
	args        []string
	environment []string

	process         *process.Process
	probes, metrics string
}

// Args are the arguments of the shipped Deployment, except for what differs on
// one machine: addresses, plain metrics, a single replica, and no webhooks, which
// nobody would ask.
func Args(kubeconfig, probes, metrics string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--health-probe-bind-address=" + probes,
		"--metrics-bind-address=" + metrics,
		"--metrics-secure=false",
		"--leader-elect=false",
		"--enable-webhooks=false",
		"--platform=auto",
		"--gateway-name=" + GatewayName,
		"--gateway-namespace=" + GatewayNamespace,
		"--controller-namespace=" + testenv.OperatorNamespace,
		"--infra-namespace=AUTO",
		"--maas-subscription-namespace=" + TenantNamespace,
		"--aitenant-namespace=" + AITenantNamespace,
		"--enable-tenant-namespace-discovery",
	}
}

// chosen are the arguments that leave out what the suite plays itself.
func chosen(o Options) []string {
	if o.Tenants {
		return nil
	}
	return []string{"--controllers=*,-platform,-aitenant,-tenantconfig"}
}

// Configure adds arguments from the next start on; of two the last counts.
func (o *Operator) Configure(args ...string) { o.args = append(o.args, args...) }

// Setenv changes a setting of its process from the next start on.
func (o *Operator) Setenv(name, value string) { o.environment = append(o.environment, name+"="+value) }

// Start runs the program and returns when it is ready.
func (o *Operator) Start(ctx context.Context) error {
	if o.process != nil && o.process.Alive() {
		return errors.New("the operator runs already")
	}
	kubeconfig, err := o.env.OperatorKubeconfig(ctx)
	if err != nil {
		return err
	}
	if o.probes, err = testenv.FreeAddress(ctx); err != nil {
		return err
	}
	if o.metrics, err = testenv.FreeAddress(ctx); err != nil {
		return err
	}
	o.process, err = process.Start(ctx, process.Command{
		Name: "maas-controller", Path: o.binary,
		Args: append(Args(kubeconfig, o.probes, o.metrics), o.args...),
		Env:  append([]string{"HOME=" + o.env.Dir()}, o.environment...),
		Log:  o.LogFile(),
	})
	if err != nil {
		return err
	}
	return program.AwaitReady(ctx, o.process, "http://"+o.probes+"/readyz")
}

// Kill ends the program at once, as a crash would, and returns when it is gone.
func (o *Operator) Kill() error { return o.end(0) }

// Stop ends the program in good order. One that does not run is left alone.
func (o *Operator) Stop() error { return o.end(stopGrace) }

func (o *Operator) end(grace time.Duration) error {
	if o.process == nil {
		return nil
	}
	return o.process.Stop(grace)
}

// Alive tells whether the program runs.
func (o *Operator) Alive() bool { return o.process != nil && o.process.Alive() }

// PID is the process id of the running program, for reading its memory.
func (o *Operator) PID() int { return o.process.PID }

// MetricsURL is where the running program serves its metrics.
func (o *Operator) MetricsURL() string { return "http://" + o.metrics + "/metrics" }

// LogFile holds the output of the program since its latest start.
func (o *Operator) LogFile() string { return filepath.Join(o.env.Dir(), "maas-controller.log") }
