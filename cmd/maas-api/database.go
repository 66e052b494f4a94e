// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/store/postgres"
)

const (
	application = "maas-api"

	// maxURLFile bounds the file with the database URL, in bytes.
	maxURLFile = 64 << 10
	// secretPause is the time between two tries to read the Secret.
	secretPause = 2 * time.Second
	// migrationTimeout is how long a migration may take once the database answers.
	migrationTimeout = 10 * time.Minute
)

// restConfig follows the usual rules: the flag, then $KUBECONFIG, then the file in
// the home directory, then the pod's own ServiceAccount.
func restConfig(in invocation) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if in.Sources["kubeconfig"] == config.SourceFlag {
		rules.ExplicitPath = in.Config.Kubeconfig
	}
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the Kubernetes client: %w", err)
	}
	loaded.UserAgent = application
	return loaded, nil
}

// databaseURL reads the URL from the file, or from the Secret. It waits for an API
// server that does not answer, but not for a Secret that does not exist.
func databaseURL(ctx context.Context, in invocation, clients *kube.Clients, log *slog.Logger) (string, error) {
	if in.Config.DatabaseURLFile != "" {
		text, err := readBounded(in.Config.DatabaseURLFile)
		if err != nil {
			return "", fmt.Errorf("read the database URL: %w", err)
		}
		return config.DatabaseURL(text)
	}
	for {
		text, err := clients.DatabaseURL(ctx, in.Config.Namespace, config.DatabaseSecret, config.DatabaseSecretKey)
		switch {
		case err == nil:
			return config.DatabaseURL(text)
		case final(err), ctx.Err() != nil:
			return "", err
		}
		log.Warn("Waiting for the Kubernetes API, to read the database URL", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return "", err
		case <-clock.RealClock{}.After(secretPause):
		}
	}
}

// final tells errors that waiting does not heal.
func final(err error) bool {
	return errors.Is(err, kube.ErrNoDatabaseURL) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

func readBounded(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // The administrator names the file.
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // It was only read.
	content, err := io.ReadAll(io.LimitReader(file, maxURLFile))
	return string(content), err
}

// migrate brings the database to the version of this program.
func migrateDatabase(ctx context.Context, in invocation, url string, log *slog.Logger) error {
	err := postgres.Migrate(ctx, postgres.MigrateOptions{
		URL:             url,
		StartTimeout:    in.Config.StartTimeout,
		Timeout:         migrationTimeout,
		ApplicationName: application,
		Log:             log,
		Clock:           clock.RealClock{},
	})
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// openStore connects to a migrated database, as the given tenant.
func openStore(ctx context.Context, in invocation, url string, log *slog.Logger, registerer prometheus.Registerer) (*postgres.Store, error) {
	c := in.Config
	store, err := postgres.Open(ctx, postgres.Options{
		URL:              url,
		Tenant:           c.TenantName,
		TenantUID:        c.TenantUID,
		Retention:        c.Retention(),
		MaxConns:         int32(c.MaxConns), //nolint:gosec // Bounded when it was read.
		MinConns:         int32(c.MinConns), //nolint:gosec // Bounded when it was read.
		ConnMaxLifetime:  c.ConnMaxLifetime,
		StatementTimeout: c.StatementTimeout,
		AcquireTimeout:   c.AcquireTimeout,
		StartTimeout:     c.StartTimeout,
		ApplicationName:  application,
		Log:              log,
		Clock:            clock.RealClock{},
		Registerer:       registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return store, nil
}
