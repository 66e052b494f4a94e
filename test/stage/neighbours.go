// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"slices"

	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Install adds sets of CRDs that the stage was started without, and then what
// needs them: the Gateway and the stand-ins. It returns when they are there.
func (s *Stage) Install(ctx context.Context, sets ...testenv.CRDSet) error {
	if err := s.Env.InstallCRDs(ctx, sets...); err != nil {
		return err
	}
	return s.settleIn(ctx, sets)
}

// settleIn starts what newly installed CRDs make possible.
func (s *Stage) settleIn(ctx context.Context, sets []testenv.CRDSet) error {
	s.crds = append(s.crds, sets...)
	if slices.Contains(sets, testenv.GatewayAPI) {
		if err := s.apply(ctx, sample("gateway.yaml")); err != nil {
			return err
		}
	}
	return s.startStandins(ctx)
}

// startStandins starts those whose CRDs are installed and that do not run yet.
func (s *Stage) startStandins(ctx context.Context) (err error) {
	config, has := s.Env.AdminConfig(), func(set testenv.CRDSet) bool { return slices.Contains(s.crds, set) }
	if !has(testenv.GatewayAPI) {
		return nil // All of them look at routes.
	}
	if s.Standins.Gateway == nil {
		if s.Standins.Gateway, err = standins.StartGateway(ctx, config, s.options.Gateway); err != nil {
			return err
		}
	}
	if s.Standins.KServe == nil && has(testenv.KServe) {
		if s.Standins.KServe, err = standins.StartKServe(ctx, config, s.options.KServe); err != nil {
			return err
		}
	}
	if s.Standins.Kuadrant == nil && has(testenv.Kuadrant) && !s.withoutKuadrant {
		s.Standins.Kuadrant, err = standins.StartKuadrant(ctx, config, s.options.Kuadrant)
	}
	return err
}
