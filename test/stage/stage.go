// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/stage/specs"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// Names of the platform that [Start] creates, from config/samples and testdata.
const (
	// TenantNamespace is where the default tenant's auth policies and
	// subscriptions live.
	TenantNamespace = "models-as-a-service"
	// ModelNamespace exists for models; any other namespace will do as well.
	ModelNamespace = "llm"
	// AITenantNamespace holds the AITenants.
	AITenantNamespace = "ai-tenants"
	// GatewayNamespace and GatewayName are the default tenant's Gateway.
	GatewayNamespace = "openshift-ingress"
	GatewayName      = "maas-default-gateway"
	// Hostname is that of the Gateway's listener.
	Hostname = "maas.example.com"
)

// Options adjusts a stage. The zero value is the usual one.
type Options struct {
	// Binary is the operator's program; empty means build it from the sources.
	Binary string
	// Args are further arguments of the operator; of two the last counts.
	Args []string
	// Tenants also runs the controllers of tenants and of the installation. Without
	// them the default tenant is there as they would leave it, and the suite says
	// itself what others there are, in the statuses of their objects.
	Tenants bool
	// Env are settings of its process besides PATH, as NAME=value.
	Env []string
	// CRDs replace the usual set: MaaS, GatewayAPI, Kuadrant and KServe. What needs
	// those that are left out comes with [Stage.Install].
	CRDs []testenv.CRDSet
	// Standins adjusts the stand-ins.
	Standins standins.Options
	// WithoutKuadrant leaves it to the test to have Kuadrant's policies carried out.
	WithoutKuadrant bool
	// Stored are objects that today's rules refuse and an earlier release let
	// pass. Their namespaces must be the platform's.
	Stored []*unstructured.Unstructured
	// WithoutOperator leaves it to the test to start the operator.
	WithoutOperator bool
	// Controllers also starts the controllers of Kubernetes and simulated nodes, and
	// installs the operator's own Deployment. Its Pod only pretends to run: the
	// operator is the process here, as ever.
	Controllers bool
	// Workload, unless nil, says how the programs of the operands' Pods are run; the
	// stage fills in its Env. It needs Controllers.
	Workload *workload.Options
	// Log receives one line per step; nil discards them.
	Log io.Writer
}

// Stage is what [Start] has set up.
type Stage struct {
	// Env is the control plane.
	Env *testenv.Env
	// Admin reads and writes as the cluster's administrator, without a cache
	// and without a rate limit, until the operator ends by itself.
	Admin client.Client
	// Standins play Kuadrant, the gateway controller and KServe; one whose CRDs are
	// not installed is nil.
	Standins *standins.All
	// Operator is the program under test.
	Operator *Operator
	// Workload runs the programs of Pods, if that was asked for.
	Workload *workload.Runner

	ends []func() error
	// crds are the installed sets, options those of the stand-ins.
	crds            []testenv.CRDSet
	options         standins.Options
	withoutKuadrant bool
}

// Start sets everything up, or ends again what it had started. It returns when
// the operator is ready.
func Start(ctx context.Context, o Options) (_ *Stage, err error) {
	s, fate := &Stage{Standins: &standins.All{}, options: o.Standins, withoutKuadrant: o.WithoutKuadrant}, newFate()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	crds := o.CRDs
	if crds == nil {
		crds = []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.KServe}
	}
	s.Env, err = testenv.Start(ctx, testenv.Options{CRDs: crds, Log: o.Log, Controllers: o.Controllers, RunPods: o.Workload != nil})
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, s.Env.Stop)
	if s.Admin, err = newClient(s.Env, fate); err != nil {
		return nil, err
	}
	if err := s.createPlatform(ctx, o); err != nil {
		return nil, err
	}
	if err := s.store(ctx, o.Stored); err != nil {
		return nil, err
	}
	if err := s.startPods(ctx, o); err != nil {
		return nil, err
	}
	s.ends = append(s.ends, s.Standins.Stop)
	if err := s.settleIn(ctx, crds); err != nil {
		return nil, err
	}
	if err := s.prepareOperator(ctx, o, fate); err != nil {
		return nil, err
	}
	if o.WithoutOperator {
		return s, nil
	}
	return s, s.Operator.Start(ctx)
}

// prepareOperator makes everything ready for the operator to be started.
func (s *Stage) prepareOperator(ctx context.Context, o Options, f *fate) (err error) {
	s.Operator = &Operator{env: s.Env, binary: o.Binary, args: append(chosen(o), o.Args...), environment: o.Env, fate: f}
	if s.Operator.binary == "" {
		if s.Operator.binary, err = Build(ctx, s.Env.Dir()); err != nil {
			return err
		}
	}
	unwatch := specs.Watch(ctx, s.Operator.Ended(), s.Operator.Err)
	s.ends = append(s.ends, func() error { unwatch(); return nil }, s.Operator.Stop)
	return logs.Sweep()
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

func newClient(env *testenv.Env, f *fate) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, inferencev1alpha1.AddToScheme, gwapiv1.Install} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	config := env.AdminConfig()
	config.Wrap(f.guard)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

// createPlatform applies what stands for the platform and needs no CRDs but ours:
// the namespaces of the samples and the default tenant, unless its controllers see
// to it. There is no model.
func (s *Stage) createPlatform(ctx context.Context, o Options) error {
	files := []string{sample("namespaces.yaml")}
	if !o.Tenants {
		files = append(files, filepath.Join("test", "stage", "testdata", "tenant.yaml"))
	}
	for _, file := range files {
		if err := s.apply(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// sample is a file of config/samples.
func sample(file string) string { return filepath.Join("config", "samples", file) }

// apply applies a file of the repository.
func (s *Stage) apply(ctx context.Context, file string) error {
	objects, err := testenv.ReadObjects(filepath.Join(testenv.RepoRoot(), file))
	if err != nil {
		return err
	}
	return samples.Apply(ctx, s.Admin, objects)
}
