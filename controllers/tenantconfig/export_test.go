// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
)

// MonitoringProblem is for the tests.
var MonitoringProblem = monitoringProblem

// seen is the scope after an object was written and seen.
func seen(object *unstructured.Unstructured) *scope {
	return &scope{
		objects: []*unstructured.Unstructured{object},
		live:    map[apply.Ref]*unstructured.Unstructured{apply.InventoryOf(object)[0]: object},
	}
}

// JudgeDeployment is for the tests.
func JudgeDeployment(object *unstructured.Unstructured) (tenantstatus.Observation, error) {
	return seen(object).deployment()
}

// JudgeRoute is for the tests.
func JudgeRoute(object *unstructured.Unstructured, gateway *gwapiv1.Gateway) (tenantstatus.Observation, error) {
	s := seen(object)
	s.gateway = gateway
	s.input.Tenant.Gateway = types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}
	return s.route()
}

// JudgePolicy is for the tests; a live object of nil was left alone.
func JudgePolicy(object, live *unstructured.Unstructured, now time.Time) tenantstatus.Observation {
	s := seen(object)
	s.live[apply.InventoryOf(object)[0]] = live
	r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(now)}
	return r.policies(s)
}

// HandBackDelay is for the tests.
const HandBackDelay = handBackDelay
