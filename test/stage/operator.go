// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// stopGrace is more than the operator takes to end in good order.
	stopGrace = 35 * time.Second
	// killedCode is what a shell says of a killed process.
	killedCode = 137
	// startAttempts is how often Start tries when another program took an address that
	// was free.
	startAttempts = 4
	// keptLogs is the number of processes whose output is kept.
	keptLogs = 16
)

// Build compiles the operator into a directory and returns the program's path.
func Build(ctx context.Context, dir string) (string, error) {
	return program.Build(ctx, dir, "maas-controller")
}

// Operator is the operator's program, run as a process. Its methods are not
// safe for concurrent use, except for Ended and Err.
//
// When it ends after it was ready although nobody stopped it, nothing is right any
// more: a suite of Ginkgo is aborted, and in every test [Stage.Admin] and all methods
// that return an error fail from then on.
type Operator struct {
	env         *testenv.Env
	binary      string
	args        []string
	environment []string

	fate            *fate
	life            *life
	log             string
	logs            []string
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
	if err := o.Err(); err != nil {
		return err
	}
	if o.Alive() {
		return errors.New("the operator runs already")
	}
	kubeconfig, err := o.env.OperatorKubeconfig(ctx)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := o.start(ctx, kubeconfig)
		if !errors.Is(err, program.ErrAddressTaken) || attempt == startAttempts {
			return err
		}
	}
}

// start tries once, at new addresses.
func (o *Operator) start(ctx context.Context, kubeconfig string) (err error) {
	if o.probes, err = testenv.FreeAddress(ctx); err != nil {
		return err
	}
	if o.metrics, err = testenv.FreeAddress(ctx); err != nil {
		return err
	}
	if err := o.newLog(); err != nil {
		return err
	}
	p, err := process.Start(ctx, process.Command{
		Name: "maas-controller", Path: o.binary,
		Args: append(Args(kubeconfig, o.probes, o.metrics), o.args...),
		Env:  append([]string{"HOME=" + o.env.Dir()}, o.environment...),
		Log:  o.log,
	})
	if err != nil {
		return err
	}
	if err := program.AwaitReady(ctx, p, "http://"+o.probes+"/readyz"); err != nil {
		return errors.Join(err, p.Stop(0))
	}
	o.life = begin(p, o.fate)
	return nil
}

// newLog chooses the file that the next process writes to. Of very many, which a suite
// that kills the operator again and again makes, only the last are kept.
func (o *Operator) newLog() (err error) {
	if o.log, err = logs.New("operator"); err != nil {
		return err
	}
	if o.logs = append(o.logs, o.log); len(o.logs) > keptLogs {
		err = os.Remove(o.logs[0])
		o.logs = o.logs[1:]
	}
	return err
}

// Kill ends the program at once, as a crash would, and returns when it is gone. Like
// Stop it fails if the program has panicked.
func (o *Operator) Kill() error { return o.end(0, killedCode) }

// Stop ends the program in good order. One that does not run is left alone.
func (o *Operator) Stop() error { return o.end(stopGrace, 0) }

func (o *Operator) end(grace time.Duration, code int) error {
	if o.life == nil || o.life.over() {
		return o.Err()
	}
	o.life.stopped.Store(true)
	p := o.life.process
	if err := p.Stop(grace); err != nil {
		return err
	}
	if p.ExitCode() != code {
		return fmt.Errorf("the operator was to end with %d: %w", code, unwanted(p))
	}
	return survivedPanic(p)
}

// Ended is closed when the program has ended although nobody stopped it, and Err says
// then how.
func (o *Operator) Ended() <-chan struct{} { return o.fate.done }

// Err is nil unless the program has ended although nobody stopped it.
func (o *Operator) Err() error { return o.fate.reason() }

// Alive tells whether the program runs.
func (o *Operator) Alive() bool { return o.life != nil && o.life.process.Alive() }

// PID is the process id of the running program, for reading its memory.
func (o *Operator) PID() int { return o.life.process.PID }

// MetricsURL is where the running program serves its metrics.
func (o *Operator) MetricsURL() string { return "http://" + o.metrics + "/metrics" }

// LogFile holds the output of the program since its latest start. It outlives the
// stage: see package logs.
func (o *Operator) LogFile() string { return o.log }
