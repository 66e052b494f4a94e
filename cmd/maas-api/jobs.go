// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/store/postgres"
)

const (
	cleanupPath = "/internal/v1/api-keys/cleanup"
	// callTimeout bounds the call of cleanup with --url.
	callTimeout = 45 * time.Second
	// maxReply bounds what is read of its answer, in bytes.
	maxReply = 64 << 10
)

// programs are what the sub-commands run.
func programs() commands {
	return commands{serve: logged(serve), migrate: logged(migrate), cleanup: logged(cleanup), revoke: logged(revoke)}
}

// logged lets the libraries write to the log of the program. They share one in a
// process, so that it is set here, where a process runs one program.
func logged(run program) program {
	return func(ctx context.Context, in invocation) error {
		installLogger(newLogger(in.Config.General, in.Out))
		return run(ctx, in)
	}
}

// job is what jobs on the database share.
type job struct {
	log *slog.Logger
	url string
}

func newJob(ctx context.Context, in invocation) (job, error) {
	log := newLogger(in.Config.General, in.Out)
	for _, warning := range in.Warnings {
		log.Warn("Check the settings: " + warning)
	}
	var clients *kube.Clients
	if in.Config.DatabaseURLFile == "" {
		loaded, err := restConfig(in)
		if err != nil {
			return job{}, err
		}
		if clients, err = kube.NewClients(loaded); err != nil {
			return job{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, in.Config.StartTimeout)
	defer cancel()
	url, err := databaseURL(ctx, in, clients, log)
	return job{log: log, url: url}, err
}

// migrate is the sub-command of that name.
func migrate(ctx context.Context, in invocation) error {
	j, err := newJob(ctx, in)
	if err != nil {
		return err
	}
	if err := migrateDatabase(ctx, in, j.url, j.log); err != nil {
		return err
	}
	j.log.Info("The database has the version this program needs")
	return nil
}

// revoke is the sub-command of that name.
func revoke(ctx context.Context, in invocation) error {
	if in.Sources["tenant-name"] != config.SourceDefault && in.Config.TenantName != in.Tenant {
		return errors.New("--tenant and --tenant-name (TENANT_NAME) name two tenants: drop one of them")
	}
	in.Config.TenantName = in.Tenant
	return onDatabase(ctx, in, func(ctx context.Context, keys *apikey.Service, log *slog.Logger) error {
		count, err := keys.RevokeTenant(ctx, in.Tenant)
		if err != nil {
			return cause(err)
		}
		if count == 0 {
			log.Info("No active key was found for a tenant of this name", slog.String("tenant", in.Tenant))
			return nil
		}
		log.Info("Revoked the keys of the tenant", slog.String("tenant", in.Tenant), slog.Int64("keys", count))
		return nil
	})
}

// cleanup is the sub-command of that name.
func cleanup(ctx context.Context, in invocation) error {
	if in.URL != "" {
		return callCleanup(ctx, in)
	}
	return onDatabase(ctx, in, func(ctx context.Context, keys *apikey.Service, log *slog.Logger) error {
		done, err := keys.Cleanup(ctx)
		if err != nil {
			return cause(err)
		}
		log.Info("Deleted keys", slog.Int64("ephemeral", done.Ephemeral), slog.Int64("purged", done.Purged))
		return nil
	})
}

// cause returns why a flow failed, which its own text keeps from clients.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return fmt.Errorf("%w: %w", err, inner)
	}
	return err
}

// onDatabase runs a job on the service of keys. A database of another version is
// brought up first, because a job may be the first to run after an update.
func onDatabase(ctx context.Context, in invocation, f func(context.Context, *apikey.Service, *slog.Logger) error) error {
	j, err := newJob(ctx, in)
	if err != nil {
		return err
	}
	if err := migrateDatabase(ctx, in, j.url, j.log); err != nil {
		return err
	}
	in.Config.MaxConns, in.Config.MinConns = 2, 1
	registry := prometheus.NewRegistry() // Nobody looks at it.
	store, err := openStore(ctx, in, j.url, j.log, registry)
	if err != nil {
		return err
	}
	defer store.Close()
	keys, err := jobService(in, store, j.log)
	if err != nil {
		return err
	}
	return f(ctx, keys, j.log)
}

func jobService(in invocation, store *postgres.Store, log *slog.Logger) (*apikey.Service, error) {
	auditor, err := newAuditor(in)
	if err != nil {
		return nil, err
	}
	keys, err := apikey.NewService(apikey.Options{
		Store: store, Auditor: auditor, Clock: clock.RealClock{}, Random: rand.Reader,
		Tenant: in.Config.TenantName, MaxExpirationDays: in.Config.MaxExpirationDays, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("make the service of keys: %w", err)
	}
	return keys, nil
}

// callCleanup has a running maas-api clean up. Its certificate is verified.
func callCleanup(ctx context.Context, in invocation) error {
	log := newLogger(in.Config.General, in.Out)
	base, err := url.Parse(in.URL)
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") || base.User != nil {
		return errors.New("--url is no URL of a maas-api: write it like https://maas-api.maas.svc:8443")
	}
	var required []string
	if in.CAFile != "" {
		required = append(required, in.CAFile)
	}
	roots, err := catalog.LoadRoots([]string{catalog.ServiceAccountCA}, required)
	if err != nil {
		return fmt.Errorf("read certificate authorities (--ca-file): %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath(cleanupPath).String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("call maas-api: %w", err)
	}
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("call maas-api: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return fmt.Errorf("read the answer of maas-api: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("maas-api answered %s", response.Status)
	}
	var reply struct {
		DeletedCount int64 `json:"deletedCount"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return errors.New("read the answer of maas-api: it has another form than expected")
	}
	log.Info("maas-api deleted keys", slog.Int64("keys", reply.DeletedCount))
	return nil
}
