// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// Side is one tenant as the cases see it.
type Side struct {
	Tenant *world.Tenant
	Models Models
	Tokens Tokens
	Keys   Keys
	// Other is the tenant beside it.
	Other *Side

	world *world.World
}

// Fixture is everything that the cases speak of, in a world.
type Fixture struct {
	Default, Red *Side

	world *world.World
}

// Prepare makes everything, and returns when it is as the cases say.
func Prepare(ctx context.Context, w *world.World) (*Fixture, error) {
	f := &Fixture{world: w, Default: &Side{Tenant: w.Default, world: w}, Red: &Side{Tenant: w.Red, world: w}}
	f.Default.Other, f.Red.Other = f.Red, f.Default
	var both errgroup.Group
	for _, s := range f.Sides() {
		s.Models = modelsOf(s.Tenant)
		both.Go(func() error {
			if err := s.prepare(ctx); err != nil {
				return fmt.Errorf("prepare the cases of %s: %w", s.Tenant, err)
			}
			return nil
		})
	}
	return f, both.Wait()
}

// Side is one of them.
func (f *Fixture) Side(which Which) *Side {
	if which == RedTenant {
		return f.Red
	}
	return f.Default
}

// Sides are both tenants.
func (f *Fixture) Sides() []*Side { return []*Side{f.Default, f.Red} }

// Release lets what the cases hold back be deleted.
func (f *Fixture) Release(ctx context.Context) error {
	return errors.Join(f.Default.release(ctx), f.Red.release(ctx))
}

func (s *Side) prepare(ctx context.Context) error {
	if err := s.create(ctx); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	if err := s.collect(ctx); err != nil {
		return err
	}
	if err := s.leave(ctx); err != nil {
		return err
	}
	for _, m := range s.served() {
		if err := s.world.AwaitServed(ctx, s.chat(m.model, m.headers...)); err != nil {
			return err
		}
	}
	return nil
}

// leave begins to delete a subscription and contests the limits of a model, and returns
// when nothing counts by either.
func (s *Side) leave(ctx context.Context) error {
	held := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.Tenant.Namespace, Name: leaving}}
	if err := s.world.Admin.Delete(ctx, held); err != nil {
		return fmt.Errorf("delete subscription %s: %w", leaving, err)
	}
	if err := s.world.Create(ctx, squatter(s.Models.Contested)); err != nil {
		return err
	}
	direct, err := s.Tenant.Direct(ctx)
	if err != nil {
		return err
	}
	return world.Eventually(ctx, "subscriptions to be of no use", func(ctx context.Context) error {
		for _, m := range []world.Model{s.Models.Leaving, s.Models.Contested} {
			chosen, err := direct.Select(ctx, service.SelectRequest{Username: olga, Groups: []string{staff}, Model: m.Key().String()})
			if err == nil && chosen.Error == "" {
				err = fmt.Errorf("one is still chosen: %+v", chosen)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// servedModel is a model with what staff need to use it.
type servedModel struct {
	model   world.Model
	headers []world.Header
}

// served are the models that can be used, with headers that do.
func (s *Side) served() []servedModel {
	token := world.Bearer(s.Tokens.Olga)
	all := []servedModel{
		{s.Models.Granite, token},
		{s.Models.Open, token},
		{s.Models.Late, token},
		{s.Models.Several, append(world.Headers(headerSubscription, silver), token...)},
	}
	if s.messages() {
		all = append(all, servedModel{s.Models.Messages, token})
	}
	return all
}

// key is the name of a subscription of the tenant.
func (s *Side) key(subscription string) string {
	return builder.Key(s.Tenant.Namespace, subscription).String()
}
