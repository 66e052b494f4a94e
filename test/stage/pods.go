// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"path/filepath"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// DeploymentName is the name of the operator's own Deployment, in
// [testenv.OperatorNamespace].
const DeploymentName = "maas-controller"

// startPods installs the operator's own Deployment and starts what runs Pods, each if
// it was asked for.
func (s *Stage) startPods(ctx context.Context, o Options) (err error) {
	if o.Workload != nil {
		options := *o.Workload
		options.Env = s.Env
		if s.Workload, err = workload.Start(ctx, options); err != nil {
			return err
		}
		s.ends = append(s.ends, s.keepWorkloadLogs(options.Dir), s.Workload.Stop)
	}
	if !o.Controllers {
		return nil
	}
	return s.Deploy(ctx)
}

// keepWorkloadLogs keeps what the programs in Pods have written: their directory goes
// with the stage, or with the suite that chose it.
func (s *Stage) keepWorkloadLogs(dir string) func() error {
	if dir == "" {
		dir = filepath.Join(s.Env.Dir(), "workload")
	}
	return func() error { return logs.Keep(filepath.Join(dir, "logs"), "workload") }
}

// Deploy installs the operator's own Deployment, also again after a test removed it.
// Without controllers there is only the object.
func (s *Stage) Deploy(ctx context.Context) error {
	// This makes its namespace and its ServiceAccount.
	if _, err := s.Env.OperatorConfig(ctx); err != nil {
		return err
	}
	objects, err := testenv.ReadObjects(filepath.Join(testenv.RepoRoot(), "config", "manager", "manager.yaml"))
	if err != nil {
		return err
	}
	return samples.Apply(ctx, s.Admin, objects)
}
