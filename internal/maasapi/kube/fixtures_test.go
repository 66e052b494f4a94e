// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

const testTenant = "models-as-a-service"

var (
	epoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	errDown = errors.New("connection refused")
)

// react answers requests of a verb for a resource.
type react struct {
	verb, resource string
	answer         func(ktesting.Action) (runtime.Object, error)
}

// clients are connected to nothing but the answers.
func clients(answers ...react) *Clients {
	set := fake.NewClientset()
	dynamic := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	for _, a := range answers {
		reaction := func(action ktesting.Action) (bool, runtime.Object, error) {
			object, err := a.answer(action)
			return true, object, err
		}
		set.PrependReactor(a.verb, a.resource, reaction)
		dynamic.PrependReactor(a.verb, a.resource, reaction)
	}
	return &Clients{
		dynamic: dynamic, version: set.Discovery().RESTClient(), core: set.CoreV1(),
		authentication: set.AuthenticationV1(), authorization: set.AuthorizationV1(),
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// caller is a token caller.
func caller(tb testing.TB, username string, groups ...string) entitlement.Caller {
	tb.Helper()
	c, err := entitlement.FromToken(username, groups)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// object is one of a kind of ours.
func object(kind, namespace, name string, members map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	maps.Copy(u.Object, members)
	return u
}

// newCache is one that is not running.
func newCache(tb testing.TB, c *clocktesting.FakeClock, change func(*CacheOptions)) *Cache {
	tb.Helper()
	o := CacheOptions{
		Clients: clients(), Tenant: testTenant, SubscriptionNamespace: testTenant,
		Clock: c, Log: discard(), Registerer: prometheus.NewRegistry(),
	}
	if change != nil {
		change(&o)
	}
	cache, err := NewCache(o)
	if err != nil {
		tb.Fatal(err)
	}
	return cache
}
