// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func (s *stack) startControlPlane(ctx context.Context) error {
	env, err := testenv.Attach(s.layout.controlPlane())
	if err == nil {
		s.env = env
		s.progress.say("already running")
		return nil
	}
	if !errors.Is(err, testenv.ErrNotRunning) {
		return err
	}
	s.env, err = testenv.Start(ctx, testenv.Options{
		Dir:         s.layout.controlPlane(),
		Controllers: true,
		RunPods:     true,
		CRDs:        s.crdSets(),
		Log:         s.progress,
		KeepRunning: s.keep,
		Owner:       owner,
	})
	if err != nil {
		return err
	}
	s.started = append(s.started, s.env.Stop)
	if s.engines {
		return nil // All of Istio is there.
	}
	return s.installIstio(ctx)
}

// installIstio adds the kinds of Istio that the operator writes. The others would take
// longer than all of the rest.
func (s *stack) installIstio(ctx context.Context) error {
	crds, err := testenv.LoadCRDs(testenv.Istio)
	if err != nil {
		return err
	}
	var content []byte
	for _, crd := range crds {
		written := func(c desired.Component) bool { return c.Requires == crd.GetName() }
		if !slices.ContainsFunc(desired.Table(), written) {
			continue
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			return fmt.Errorf("write CRD %s: %w", crd.GetName(), err)
		}
		content = append(append(content, "---\n"...), text...)
	}
	if len(content) == 0 {
		return errors.New("find the kinds that the operator writes among Istio's CRDs: there is none")
	}
	file := filepath.Join(s.layout.dir, "istio.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("write Istio's CRDs: %w", err)
	}
	return s.env.InstallCRDFiles(ctx, file)
}

// crdSets are those whose kinds the operator, the stand-ins and the samples use:
// installing them is most of what a start takes.
func (s *stack) crdSets() []testenv.CRDSet {
	if s.engines {
		return append(engines.KuadrantCRDs(), testenv.MaaS, testenv.KServe, testenv.CertManager)
	}
	return []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.KServe, testenv.CertManager}
}
