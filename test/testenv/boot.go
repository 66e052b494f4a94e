// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const (
	// readyTimeout bounds each step; a step takes seconds on an idle machine.
	readyTimeout = 4 * time.Minute
	pollInterval = 25 * time.Millisecond
	probeTimeout = 5 * time.Second
	// garbagePercent lets the servers' heaps grow further before they are
	// collected: a third of the processor time for installing CRDs was that.
	garbagePercent = "200"
)

// boot starts the programs one after the other and waits for each.
func (e *Env) boot(ctx context.Context, o Options) error {
	begin := time.Now()
	if err := e.prepare(ctx); err != nil {
		return err
	}
	if err := e.bootAPIServer(ctx); err != nil {
		return err
	}
	e.logf("API server ready at %s after %s", e.url(), since(begin))
	if len(o.CRDs) > 0 {
		if err := e.InstallCRDs(ctx, o.CRDs...); err != nil {
			return err
		}
	}
	if o.Controllers {
		if err := e.writeStages(o.RunPods); err != nil {
			return err
		}
		if err := e.bootControllers(ctx); err != nil {
			return err
		}
		e.logf("controllers, scheduler and simulated nodes ready after %s", since(begin))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.Ready = true
	return e.state.write(e.dir)
}

// prepare chooses the ports and writes the files the programs read.
func (e *Env) prepare(ctx context.Context) error {
	if err := e.state.Ports.fill(ctx); err != nil {
		return err
	}
	if err := e.writeCredentials(); err != nil {
		return err
	}
	if err := writeFile(e.auditPolicyFile(), []byte(auditPolicy)); err != nil {
		return err
	}
	e.audit = audit.Open(e.auditLogFile())
	var err error
	e.admin, err = unlimited(e.Kubeconfig())
	return err
}

func (e *Env) bootAPIServer(ctx context.Context) error {
	etcd, err := e.run(ctx, "etcd", e.etcdArgs())
	if err != nil {
		return err
	}
	health := probe(&http.Client{}, httpURL(e.state.Ports.EtcdClient)+"/health")
	if err := await(ctx, etcd, health); err != nil {
		return err
	}
	apiServer, err := e.run(ctx, "kube-apiserver", e.apiServerArgs())
	if err != nil {
		return err
	}
	return await(ctx, apiServer, e.Ready)
}

func (e *Env) bootControllers(ctx context.Context) error {
	manager, err := e.run(ctx, "kube-controller-manager", e.controllerManagerArgs())
	if err != nil {
		return err
	}
	scheduler, err := e.run(ctx, "kube-scheduler", e.schedulerArgs())
	if err != nil {
		return err
	}
	kwok, err := e.run(ctx, "kwok", e.kwokArgs())
	if err != nil {
		return err
	}
	if err := e.createNodes(ctx); err != nil {
		return err
	}
	client, err := e.healthClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, step := range []struct {
		process *process.Process
		check   func(context.Context) error
	}{
		{manager, probe(client, fmt.Sprintf("https://%s:%d/healthz", loopback, e.state.Ports.ControllerManager))},
		{scheduler, probe(client, fmt.Sprintf("https://%s:%d/readyz", loopback, e.state.Ports.Scheduler))},
		{kwok, e.nodesReady},
		{manager, e.defaultServiceAccount},
	} {
		if err := await(ctx, step.process, step.check); err != nil {
			return err
		}
	}
	return nil
}

// run starts a program of the instance and records it at once.
func (e *Env) run(ctx context.Context, name string, args []string) (*process.Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := process.Start(ctx, program(name, args, e.dir, e.state.KeepRunning))
	if err != nil {
		return nil, err
	}
	e.state.Processes = append(e.state.Processes, p)
	return p, e.state.write(e.dir)
}

// program is a command that sees the directory as its home and logs there.
func program(name string, args []string, dir string, keep bool) process.Command {
	return process.Command{
		Name: name, Path: binary(name), Args: args, Env: []string{"HOME=" + dir, "GOGC=" + garbagePercent},
		Dir: dir, Log: filepath.Join(dir, name+".log"), Keep: keep,
	}
}

// await polls until the check succeeds. It fails when the process ends or does
// not get there in time, with the end of its log.
func await(ctx context.Context, p *process.Process, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if !p.Alive() {
			return failure(p, errors.New("it ended"))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return failure(p, fmt.Errorf("it is not ready (%w): %w", ctx.Err(), err))
		}
	}
}

// failure explains with the end of the log why a program is of no use.
func failure(p *process.Process, cause error) error {
	log := p.Excerpt()
	if strings.Contains(log, "address already in use") {
		cause = errors.Join(cause, errPortTaken)
	}
	return fmt.Errorf("%s: %w; its log:\n%s", p.Name, cause, log)
}

// probe returns a check that succeeds once the URL answers 200.
func probe(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("probe %s: %w", url, err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("probe %s: %w", url, err)
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, response.Body) // lets the connection be used again
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("probe %s: %s", url, response.Status)
		}
		return nil
	}
}

// healthClient trusts the authority of the instance.
func (e *Env) healthClient() (*http.Client, error) {
	ca, err := os.ReadFile(e.pki("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}, nil
}

func since(t time.Time) time.Duration {
	const precision = 100 * time.Millisecond
	return time.Since(t).Round(precision)
}
