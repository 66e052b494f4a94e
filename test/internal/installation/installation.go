// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation has what an installation with everything real stands on: this
// repository's programs, the database that all tenants share, and maas-api as the
// image of the operator's Deployments. It owns how they come to be; it must not know
// which tenants there are, nor what carries out policies.
package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// Namespace is where what runs for tenants is.
	Namespace = "odh-ai-gateway-infra"
	// Image is that of maas-api, as an installation would name it.
	Image = "registry.example.com/maas-api:tested"
	// MaaSAPIPort is that of a tenant's Service.
	MaaSAPIPort = 8443

	databaseName = "maas"
)

// Operator and MaaSAPI are the names of this repository's programs.
const (
	Operator = "maas-controller"
	MaaSAPI  = "maas-api"
)

// ImageEnv is the setting by which the operator learns of the image.
const ImageEnv = "RELATED_IMAGE_ODH_MAAS_API_IMAGE=" + Image

// Options say what to prepare.
type Options struct {
	// Dir receives this repository's programs.
	Dir string
	// Targets are what hack/build.sh builds besides, such as "gateway".
	Targets []string
	// Log receives what takes long; nil discards it.
	Log io.Writer
}

// Parts are what [Prepare] has made.
type Parts struct {
	// Programs are the paths of this repository's programs, by their names.
	Programs map[string]string
	// Server has the database, and Rows looks at it as the server's administrator.
	Server *postgres.Server
	Rows   *pgxpool.Pool
}

// Prepare builds the programs and starts the database, at the same time.
func Prepare(ctx context.Context, o Options) (_ *Parts, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	p := &Parts{Programs: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	var mu sync.Mutex // guards Programs
	var work errgroup.Group
	for _, name := range []string{Operator, MaaSAPI} {
		work.Go(func() error {
			path, err := program.Build(ctx, o.Dir, name)
			mu.Lock()
			defer mu.Unlock()
			p.Programs[name] = path
			return err
		})
	}
	work.Go(func() error {
		for _, target := range o.Targets { // Each keeps every core busy.
			if err := testenv.Build(ctx, target, o.Log); err != nil {
				return err
			}
		}
		return nil
	})
	work.Go(func() error { return p.startDatabase(ctx, o.Log) })
	return p, work.Wait()
}

func (p *Parts) startDatabase(ctx context.Context, log io.Writer) (err error) {
	if p.Server, err = postgres.Start(ctx, postgres.Options{Out: log}); err != nil {
		return err
	}
	if err := p.Server.CreateDatabase(ctx, databaseName); err != nil {
		return err
	}
	if p.Rows, err = pgxpool.New(context.WithoutCancel(ctx), p.Server.AdminURL(databaseName)); err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	return nil
}

// Stop ends the database. What did not start is left alone.
func (p *Parts) Stop() error {
	if p.Rows != nil {
		p.Rows.Close()
	}
	if p.Server != nil {
		return p.Server.Stop()
	}
	return nil
}

// Database is where maas-api's data is.
func (p *Parts) Database() string { return p.Server.URL(databaseName) }

// DatabaseSecret tells the operator of a database.
func DatabaseSecret(url string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: url},
	}
}

// Program is maas-api as an image. A server finds its tenant's gateway where that is
// on this machine: gateway returns the address of a Gateway, empty for one that nobody
// visits, and the file with the authority of its certificate.
func Program(path string, gateway func(name string) (address, authority string, err error)) workload.Program {
	program := workload.MaaSAPI(path)
	usual := program.Args
	program.Args = func(l workload.Line) []string {
		args := usual(l)
		if len(args) == 0 { // A job.
			return args
		}
		address, authority, err := gateway(l.Env["GATEWAY_NAME"])
		switch {
		case err != nil:
			return append(args, fmt.Sprintf("--no-authority=%v", err)) // It will say so.
		case address == "":
			return args
		default:
			return append(args, "--gateway-address="+address, "--gateway-ca-file="+authority)
		}
	}
	return program
}
