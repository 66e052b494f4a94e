// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	startTimeout = 15 * time.Minute
	eventually   = 90 * time.Second
	poll         = 50 * time.Millisecond
)

func TestTheOperatorsOwnDeploymentIsAvailableBesideItsProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := stage.Start(ctx, stage.Options{Controllers: true, Workload: &workload.Options{}, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	key := types.NamespacedName{Namespace: testenv.OperatorNamespace, Name: stage.DeploymentName}
	available := func(ctx context.Context) (bool, error) {
		deployment := &appsv1.Deployment{}
		err := s.Admin.Get(ctx, key, deployment)
		return deployment.Status.AvailableReplicas == 1, err
	}
	if err := wait.PollUntilContextTimeout(ctx, poll, eventually, true, available); err != nil {
		t.Error(err)
	}
	if !s.Operator.Alive() {
		t.Error("the operator does not run")
	}
}
