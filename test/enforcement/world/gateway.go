// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// startGateway starts the gateway of a tenant. It knows the tenant's own maas-api only.
func (t *Tenant) startGateway(ctx context.Context) error {
	w := t.world
	certificate, err := w.Stage.Env.IssueCertificate("gateway-"+t.Gateway.Name, t.Host)
	if err != nil {
		return err
	}
	api, err := w.Stage.Workload.Service(ctx, t.service())
	if err != nil {
		return err
	}
	ready := filepath.Join(w.dir, "gateway-"+t.Gateway.Name+".address")
	t.process, err = process.Start(ctx, process.Command{
		Name: "gateway of " + t.Name, Path: filepath.Join(testenv.RepoRoot(), "bin", "gateway-standin"),
		Log: filepath.Join(w.dir, "gateway-"+t.Gateway.Name+".log"),
		Args: append([]string{
			"--kubeconfig=" + w.Stage.Env.Kubeconfig(), "--gateway=" + t.Gateway.String(),
			"--listen=" + t.address, "--address-file=" + ready, "--tls-cert=" + certificate.CertFile, "--tls-key=" + certificate.KeyFile,
			"--engine", "--authorino=" + w.Authorino.GRPC, "--admin=" + t.admin,
			"--backend-ca=" + certificate.CAFile, "--backend=" + installation.Namespace + "/" + t.Names.MaaSAPI() + "=https://" + api,
			"--backend=" + stage.ModelNamespace + "/" + UpstreamService + "=" + w.Upstream.server.URL,
			"--backend=" + OtherNamespace + "/" + UpstreamService + "=" + w.Upstream.server.URL,
		}, append(w.simulated(), w.outside()...)...),
	})
	if err != nil {
		return err
	}
	w.onStop(func() error { return t.process.Stop(grace) })
	return Eventually(ctx, "the gateway of "+t.Name, func(context.Context) error {
		if !t.process.Alive() {
			return fmt.Errorf("%w: %s", errEnded, t.process.Excerpt())
		}
		_, err := os.Stat(ready)
		return err
	})
}

// simulated is where the gateway finds the simulator, if there is one.
func (w *World) simulated() []string {
	if w.simulator == "" {
		return nil
	}
	return []string{"--backend=" + stage.ModelNamespace + "/" + SimulatorService + "=" + w.simulator}
}

// Say are the last words of everything that was started, for failure messages.
func (w *World) Say() string {
	const most = 4000
	var out strings.Builder
	say := func(name, file string) {
		text, _ := os.ReadFile(file) // It may be gone.
		if len(text) > most {
			text = text[len(text)-most:]
		}
		fmt.Fprintf(&out, "--- %s\n%s\n", name, text)
	}
	for _, t := range w.Tenants() {
		if t.process != nil {
			say(t.process.Name, t.process.Log)
		}
	}
	if w.Authorino != nil {
		say("Authorino", w.Authorino.LogFile())
	}
	if w.Kuadrant != nil {
		say("Kuadrant", w.Kuadrant.LogFile())
	}
	if w.Stage != nil {
		for _, c := range w.Stage.Workload.Containers(installation.Namespace) {
			say(c.Pod.Name, c.Log)
		}
		say(testenv.OperatorUser, w.Stage.Operator.LogFile())
	}
	return out.String()
}
