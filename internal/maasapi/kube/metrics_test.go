// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
)

// Metrics are read while the service still starts.
func TestTheAgeIsAskedForOnlyOfAWholeCache(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	made, reading := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(reading)
		for {
			if _, err := registry.Gather(); err != nil { // The race detector watches.
				t.Error(err)
			}
			select {
			case <-made:
				return
			default:
			}
		}
	}()
	_, err := NewCache(CacheOptions{
		Clients: clients(), Tenant: testTenant, SubscriptionNamespace: testTenant,
		Clock: clocktesting.NewFakeClock(epoch), Log: discard(), Registerer: registry,
	})
	close(made)
	<-reading
	if err != nil {
		t.Error(err)
	}
}
