// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standins starts the stand-ins for the controllers this project works
// with but does not contain: Kuadrant, the gateway controller and KServe. Each
// lives in its own package and plays only the part our operator observes; a
// test that needs the real behaviour starts the real engine instead.
package standins

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"

	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// StartKuadrant runs the Kuadrant stand-in until its Stop.
func StartKuadrant(ctx context.Context, cfg *rest.Config, opts kuadrant.Options) (*kuadrant.Kuadrant, error) {
	return kuadrant.Start(ctx, cfg, opts)
}

// StartGateway runs the stand-in of the gateway controller until its Stop.
func StartGateway(ctx context.Context, cfg *rest.Config, opts gateway.Options) (*gateway.Gateway, error) {
	return gateway.Start(ctx, cfg, opts)
}

// StartKServe runs the KServe stand-in until its Stop.
func StartKServe(ctx context.Context, cfg *rest.Config, opts kserve.Options) (*kserve.KServe, error) {
	return kserve.Start(ctx, cfg, opts)
}

// Options adjusts all stand-ins at once.
type Options struct {
	Kuadrant kuadrant.Options
	Gateway  gateway.Options
	KServe   kserve.Options
}

// All is a running set of all stand-ins.
type All struct {
	Kuadrant *kuadrant.Kuadrant
	Gateway  *gateway.Gateway
	KServe   *kserve.KServe
}

// StartAll runs all stand-ins, or none of them.
func StartAll(ctx context.Context, cfg *rest.Config, opts Options) (*All, error) {
	all := &All{}
	var err error
	if all.Gateway, err = StartGateway(ctx, cfg, opts.Gateway); err != nil {
		return nil, errors.Join(err, all.Stop())
	}
	if all.KServe, err = StartKServe(ctx, cfg, opts.KServe); err != nil {
		return nil, errors.Join(err, all.Stop())
	}
	if all.Kuadrant, err = StartKuadrant(ctx, cfg, opts.Kuadrant); err != nil {
		return nil, errors.Join(err, all.Stop())
	}
	return all, nil
}

// Wait blocks until the context ends or a stand-in fails.
func (a *All) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.Kuadrant.Done():
		return errors.Join(errors.New("the Kuadrant stand-in ended"), a.Kuadrant.Stop())
	case <-a.Gateway.Done():
		return errors.Join(errors.New("the gateway stand-in ended"), a.Gateway.Stop())
	case <-a.KServe.Done():
		return errors.Join(errors.New("the KServe stand-in ended"), a.KServe.Stop())
	}
}

// Stop ends all stand-ins that run.
func (a *All) Stop() error {
	var errs []error
	if a.Kuadrant != nil {
		errs = append(errs, a.Kuadrant.Stop())
	}
	if a.KServe != nil {
		errs = append(errs, a.KServe.Stop())
	}
	if a.Gateway != nil {
		errs = append(errs, a.Gateway.Stop())
	}
	return errors.Join(errs...)
}
