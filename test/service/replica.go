// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// stopGrace is more than the program takes to end in good order.
	stopGrace = 30 * time.Second
	// runTimeout bounds a program that is expected to end by itself.
	runTimeout = time.Minute
)

// ReplicaOptions adjusts a replica. The zero value is one of the default tenant
// that serves plain HTTP.
type ReplicaOptions struct {
	// Name tells the replicas of a stage apart. Required.
	Name string
	// Args are further arguments; of two the last counts.
	Args []string
	// Env are settings of its process besides PATH, as NAME=value.
	Env []string
	// Database is the URL of its database, if it is not that of the Secret.
	Database string
	// Internal gives internal routes a listener of their own.
	Internal bool
	// TLS serves HTTPS with a certificate of its own, which clients of
	// [Replica.Client] do not check.
	TLS bool
}

// Replica is the program, run as a process. Its methods are not safe for
// concurrent use, those of its clients are.
type Replica struct {
	stage   *Stage
	options ReplicaOptions
	process *process.Process
	// Addresses stay the same when it is started again.
	address, internal, metrics string
}

// Replica returns a replica that does not run yet. It ends with the stage.
func (s *Stage) Replica(ctx context.Context, o ReplicaOptions) (*Replica, error) {
	if o.Name == "" {
		return nil, errors.New("a replica needs a name")
	}
	r := &Replica{stage: s, options: o}
	for _, address := range []*string{&r.address, &r.internal, &r.metrics} {
		var err error
		if *address, err = testenv.FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	s.ends = append(s.ends, r.Stop)
	return r, nil
}

// Up returns a replica that is ready.
func (s *Stage) Up(ctx context.Context, o ReplicaOptions) (*Replica, error) {
	r, err := s.Replica(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := r.Start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Start runs the program and returns when it is ready.
func (r *Replica) Start(ctx context.Context) error {
	if err := r.Launch(ctx); err != nil {
		return err
	}
	return r.AwaitReady(ctx)
}

// Launch runs the program and does not wait for it.
func (r *Replica) Launch(ctx context.Context) error {
	if r.Alive() {
		return fmt.Errorf("%s runs already", r.options.Name)
	}
	args, err := r.args()
	if err != nil {
		return err
	}
	r.process, err = process.Start(ctx, process.Command{
		Name: r.options.Name, Path: r.stage.Binary, Args: args, Env: r.stage.environment(r.options.Env), Log: r.LogFile(),
	})
	return err
}

// args are those of the shipped Deployment, except for what differs on one
// machine: addresses, no encryption, and no time to let a load balancer notice
// the end.
func (r *Replica) args() ([]string, error) {
	args := append([]string{"serve"}, r.stage.Args()...)
	args = append(args, "--address="+r.address, "--metrics-address="+r.metrics, "--shutdown-drain=0s")
	if r.options.Internal {
		args = append(args, "--internal-address="+r.internal)
	}
	if r.options.TLS {
		args = append(args, "--tls-self-signed")
	}
	if r.options.Database != "" {
		file := filepath.Join(r.stage.dir, r.options.Name+".url")
		if err := os.WriteFile(file, []byte(r.options.Database+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("write database URL: %w", err)
		}
		r.stage.Used.Secret(r.options.Database)
		args = append(args, "--database-url-file="+file)
	}
	return append(args, r.options.Args...), nil
}

// Args are the arguments that say which tenant the program serves, and where.
func (s *Stage) Args() []string {
	return []string{
		"--kubeconfig=" + s.kubeconfig,
		"--namespace=" + Account().Namespace,
		"--tenant-name=" + Tenant,
		"--maas-subscription-namespace=" + Tenant,
		"--gateway-name=" + GatewayName,
		"--gateway-namespace=" + GatewayNamespace,
	}
}

func (s *Stage) environment(more []string) []string {
	return append([]string{"HOME=" + s.dir}, more...)
}

// AwaitReady returns when the program is ready.
func (r *Replica) AwaitReady(ctx context.Context) error {
	return program.AwaitReady(ctx, r.process, r.ReadyURL())
}

// Ready tells whether the program is ready now.
func (r *Replica) Ready(ctx context.Context) bool { return program.Ready(ctx, r.ReadyURL()) }

// ReadyURL is where the program tells whether it is ready, without encryption.
func (r *Replica) ReadyURL() string { return "http://" + r.metrics + "/readyz" }

// MetricsURL is where the program serves its metrics.
func (r *Replica) MetricsURL() string { return "http://" + r.metrics + "/metrics" }

// Address is host:port of the API.
func (r *Replica) Address() string { return r.address }

// URL is where the program serves the API.
func (r *Replica) URL() string { return r.scheme() + "://" + r.address }

// InternalURL is where the program serves internal routes.
func (r *Replica) InternalURL() string {
	if r.options.Internal {
		return r.scheme() + "://" + r.internal
	}
	return r.URL()
}

func (r *Replica) scheme() string {
	if r.options.TLS {
		return "https"
	}
	return "http"
}

// Kill ends the program at once, as a crash would, and returns when it is gone.
func (r *Replica) Kill() error { return r.end(0) }

// Stop ends the program in good order. One that does not run is left alone.
func (r *Replica) Stop() error { return r.end(stopGrace) }

func (r *Replica) end(grace time.Duration) error {
	if r.process == nil {
		return nil
	}
	return r.process.Stop(grace)
}

// Signal sends a signal and does not wait for what follows from it.
func (r *Replica) Signal(sig syscall.Signal) error { return r.process.Signal(sig) }

// Alive tells whether the program runs.
func (r *Replica) Alive() bool { return r.process != nil && r.process.Alive() }

// PID is the process id of the running program, for reading its memory.
func (r *Replica) PID() int { return r.process.PID }

// LogFile holds the output of the program since its latest start.
func (r *Replica) LogFile() string { return filepath.Join(r.stage.dir, r.options.Name+".log") }

// Excerpt is how the log begins and ends.
func (r *Replica) Excerpt() string {
	if r.process == nil {
		return ""
	}
	return r.process.Excerpt()
}

// LogFiles are the logs of all replicas of the stage.
func (s *Stage) LogFiles() ([]string, error) { return filepath.Glob(filepath.Join(s.dir, "*.log")) }

// Outcome is what came of a program that ended by itself.
type Outcome struct {
	// Code is the exit code; -1 after a signal.
	Code           int
	Stdout, Stderr string
}

// Run runs the program to its end with nothing but the given arguments and
// settings.
func (s *Stage) Run(ctx context.Context, args, env []string) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, s.Binary, args...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, s.environment(env)...)
	command.Dir = s.dir
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	out := Outcome{Code: command.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, fmt.Errorf("run %s: %w", filepath.Base(s.Binary), err)
	}
	if ctx.Err() != nil {
		return out, fmt.Errorf("%v did not end: %w; it said: %s%s", args, ctx.Err(), out.Stdout, out.Stderr)
	}
	return out, nil
}
