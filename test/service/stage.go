// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Names of the platform that [Start] creates.
const (
	// Tenant is the one that replicas serve unless told otherwise, and the namespace
	// of its subscriptions and auth policies.
	Tenant = "models-as-a-service"
	// ModelNamespace is for models; any other namespace will do as well.
	ModelNamespace = "llm"
	// GatewayNamespace and GatewayName are the tenant's Gateway.
	GatewayNamespace = "openshift-ingress"
	GatewayName      = "maas-default-gateway"
	// Hostname is that of the Gateway's listener.
	Hostname = "maas.example.com"

	databaseSecret = "maas-db-config"
	databaseKey    = "DB_CONNECTION_URL"
)

// Account is what the program runs as.
func Account() testenv.Account {
	return testenv.Account{Namespace: "odh-ai-gateway-infra", Name: "maas-api", Manifests: "config/maas-api/rbac"}
}

// Options adjusts a stage. The zero value is the usual one.
type Options struct {
	// Binary is maas-api's program; empty means build it from the sources.
	Binary string
	// CRDs are installed beside ours and those of Gateway API.
	CRDs []testenv.CRDSet
	// Postgres adjusts the database server.
	Postgres postgres.Options
	// Report receives every difference between an answer and the OpenAPI documents;
	// it may be called from several goroutines. Required.
	Report func(error)
	// Log receives one line per step; nil discards them.
	Log io.Writer
}

func (o Options) out() io.Writer {
	if o.Log == nil {
		return io.Discard
	}
	return o.Log
}

// Stage is what [Start] has set up.
type Stage struct {
	// Env is the control plane: an API server without controllers.
	Env *testenv.Env
	// Admin reads and writes as the cluster's administrator, without a cache and
	// without a rate limit.
	Admin client.Client
	// Postgres is the database server, Database the URL of the database that
	// replicas use unless told otherwise.
	Postgres *postgres.Server
	Database string
	// Binary is the program under test.
	Binary string
	// Contract has seen every exchange with a replica.
	Contract *contract.Checker
	// Used remembers what must not show in a log.
	Used *Ledger

	options    Options
	kubeconfig string
	dir        string
	settled    atomic.Int64
	ends       []func() error
}

// Start sets everything up, or ends again what it had started. Replicas are
// started with [Stage.Replica].
func Start(ctx context.Context, o Options) (_ *Stage, err error) {
	s := &Stage{options: o, Used: &Ledger{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "maas-api-"); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	s.ends = append(s.ends, func() error { return os.RemoveAll(s.dir) })
	if s.Contract, err = documents(ctx); err != nil {
		return nil, err
	}
	if err := s.startServers(ctx); err != nil {
		return nil, err
	}
	if err := s.prepareCluster(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// startServers starts both servers and builds the program, at the same time.
func (s *Stage) startServers(ctx context.Context) error {
	var group errgroup.Group // Not the first failure, but all that began is waited for.
	group.Go(func() (err error) {
		s.Postgres, err = postgres.Start(ctx, s.options.Postgres)
		return err
	})
	group.Go(func() (err error) {
		crds := append([]testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}, s.options.CRDs...)
		s.Env, err = testenv.Start(ctx, testenv.Options{CRDs: crds, Log: s.options.Log})
		return err
	})
	group.Go(func() (err error) {
		if s.Binary = s.options.Binary; s.Binary == "" {
			s.Binary, err = program.Build(ctx, s.dir, "maas-api")
		}
		return err
	})
	err := group.Wait()
	if s.Postgres != nil {
		s.ends = append(s.ends, s.Postgres.Stop)
	}
	if s.Env != nil {
		s.ends = append(s.ends, s.Env.Stop)
	}
	if err != nil {
		return err
	}
	s.Database, err = s.Postgres.NewDatabase(ctx)
	return err
}

func documents(ctx context.Context) (*contract.Checker, error) {
	public, err := contract.Public(ctx)
	if err != nil {
		return nil, err
	}
	internal, err := contract.Internal(ctx)
	if err != nil {
		return nil, err
	}
	return contract.New(public, internal), nil
}

// prepareCluster makes the namespaces, the program's identity and its Secret.
func (s *Stage) prepareCluster(ctx context.Context) (err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gwapiv1.Install} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("build the scheme: %w", err)
		}
	}
	if s.Admin, err = client.New(s.Env.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, name := range []string{Tenant, ModelNamespace, GatewayNamespace, Account().Namespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.Admin.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Account().Namespace, Name: databaseSecret},
		Data:       map[string][]byte{databaseKey: []byte(s.Database)},
	}
	if err := s.Admin.Create(ctx, secret); err != nil {
		return fmt.Errorf("create Secret %s: %w", databaseSecret, err)
	}
	s.Used.Secret(s.Database)
	s.kubeconfig, err = s.Env.AccountKubeconfig(ctx, Account())
	return err
}

// Stop ends everything, the last started first.
func (s *Stage) Stop() error {
	var errs []error
	for _, end := range slices.Backward(s.ends) {
		errs = append(errs, end())
	}
	s.ends = nil
	return errors.Join(errs...)
}

// FreezeAPIServer halts the API server: connections stay, nothing answers.
func (s *Stage) FreezeAPIServer() error { return s.signalAPIServer(syscall.SIGSTOP) }

// ThawAPIServer lets it continue.
func (s *Stage) ThawAPIServer() error { return s.signalAPIServer(syscall.SIGCONT) }

func (s *Stage) signalAPIServer(sig syscall.Signal) error {
	programs, err := testenv.Inspect(s.Env.Dir())
	if err != nil {
		return err
	}
	for _, p := range programs {
		if p.Name == "kube-apiserver" {
			return syscall.Kill(p.PID, sig)
		}
	}
	return errors.New("there is no API server to signal")
}
