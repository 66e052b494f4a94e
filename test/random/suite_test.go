// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

var (
	first     = flag.Uint64("random.first", 1, "seed of the first sequence")
	sequences = flag.Uint64("random.sequences", 10, "number of sequences, with successive seeds")
	workers   = flag.Int("random.workers", 16, "number of sequences at a time")
	patience  = flag.Duration("random.patience", 75*time.Second, "time that a sequence may take to settle")
	shrinking = flag.Int("random.shrink", 8, "number of attempts to find out which steps a failure needs")
	operator  = flag.String("random.operator", "", "program of the operator; empty means build it")
)

// Of every eighth sequence the tenant itself changes. That concerns every model
// of the cluster and would hide from the others what a missing watch does.
const movingTenants = 8

// Every so many sequences are watched until the operator no longer hopes that a
// policy which Kuadrant does not enforce gets better by itself: half a minute.
const unhurried = 9

func TestSequencesEndAsComputed(t *testing.T) {
	c := newCluster(t)
	for _, moving := range []bool{false, true} {
		var seeds []uint64
		for seed := *first; seed < *first+*sequences; seed++ {
			if (seed%movingTenants == 0) == moving {
				seeds = append(seeds, seed)
			}
		}
		c.runAll(t, seeds, moving)
	}
}

// cluster is what all sequences share.
type cluster struct {
	*stage.Stage
	// cached reads the cluster without asking the API server.
	cached client.Reader
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctrl.SetLogger(logr.Discard()) // The stand-ins have nothing to tell.
	on, err := stage.Start(t.Context(), stage.Options{
		Binary: *operator, Log: t.Output(),
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(0, 20*time.Millisecond)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{Stage: on}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			copyLog(t, on.Operator.LogFile())
		}
		if err := on.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// copyLog shows the end of the operator's log: its directory goes with the stage.
func copyLog(t *testing.T, file string) {
	t.Helper()
	const tail = 64 << 10
	content, err := os.ReadFile(file)
	if err != nil {
		t.Log(err)
	}
	t.Logf("the operator's log ends with:\n%s", content[max(0, len(content)-tail):])
}

// prepare adds a second tenant and lets in what only an earlier release stored.
func (c *cluster) prepare(ctx context.Context) error {
	if err := c.loosen(ctx); err != nil {
		return err
	}
	if err := c.Admin.Create(ctx, redGateway()); err != nil {
		return fmt.Errorf("create Gateway: %w", err)
	}
	if err := c.createTenant(ctx, sharedTenant); err != nil {
		return err
	}
	reader, err := cache.New(c.Env.AdminConfig(), cache.Options{Scheme: c.Admin.Scheme()})
	if err != nil {
		return fmt.Errorf("make a cache: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- reader.Start(ctx) }()
	if !reader.WaitForCacheSync(ctx) {
		return fmt.Errorf("start the cache: %w", <-ended)
	}
	c.cached = reader
	_, err = oracle.Read(ctx, reader, oracle.Scope{Namespaces: []string{stage.TenantNamespace}})
	return err
}

const (
	sharedTenant = "red"
	redName      = "red-gateway"
	redHostname  = "red.example.com"
)

func redGateway() *gwapiv1.Gateway {
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.GatewayNamespace, Name: redName},
		Spec: gwapiv1.GatewaySpec{GatewayClassName: "istio", Listeners: []gwapiv1.Listener{{
			Name: "https", Port: 443, Protocol: gwapiv1.HTTPSProtocolType, Hostname: new(gwapiv1.Hostname(redHostname)),
			TLS:           &gwapiv1.ListenerTLSConfig{CertificateRefs: []gwapiv1.SecretObjectReference{{Name: "red-tls"}}},
			AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{From: new(gwapiv1.NamespacesFromAll)}},
		}}},
	}
}

// createTenant makes a tenant with its namespace, stamped as its controllers do.
func (c *cluster) createTenant(ctx context.Context, name string) error {
	namespace := "ai-tenant-" + name
	labels := map[string]string{
		v1alpha1.LabelTenant: name, v1alpha1.LabelManagedByAITenant: "true",
		v1alpha1.LabelTenantName: name, v1alpha1.LabelTenantNamespace: namespace,
	}
	tenant := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: name}}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}},
		tenant,
		&v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName, Labels: labels,
			Annotations: map[string]string{v1alpha1.AnnotationAITenantName: name, v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace},
		}},
	} {
		if err := c.Admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T of tenant %s: %w", object, name, err)
		}
	}
	tenant.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: stage.GatewayNamespace, Name: redName}
	if err := c.Admin.Status().Update(ctx, tenant); err != nil {
		return fmt.Errorf("stamp AITenant %s: %w", name, err)
	}
	return nil
}

// loosen drops the bounds on the specs of subscriptions: an earlier release
// stored what today's would refuse.
func (c *cluster) loosen(ctx context.Context) error {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := c.Admin.Get(ctx, client.ObjectKey{Name: "maassubscriptions.maas.opendatahub.io"}, definition); err != nil {
		return fmt.Errorf("read the definition of subscriptions: %w", err)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return fmt.Errorf("read the versions of subscriptions: %w", err)
	}
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			spec, found, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties", "spec")
			if err != nil || !found {
				return fmt.Errorf("read the schema of subscriptions: found %t, %w", found, err)
			}
			dropBounds(spec)
		}
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		return fmt.Errorf("change the schema of subscriptions: %w", err)
	}
	if err := c.Admin.Update(ctx, definition); err != nil {
		return fmt.Errorf("change the definition of subscriptions: %w", err)
	}
	probe := subscriptionWith(stage.TenantNamespace, "loosened", v1alpha1.ModelSubscription{Namespace: "nowhere", Name: "nothing"})
	return eventually(ctx, func() error { return client.IgnoreAlreadyExists(c.Admin.Create(ctx, probe.DeepCopy())) })
}

func dropBounds(node any) {
	switch n := node.(type) {
	case map[string]any:
		for _, bound := range []string{"pattern", "minimum", "maximum", "minItems", "minLength", "maxLength", "x-kubernetes-validations"} {
			if _, isProperty := n[bound].(map[string]any); !isProperty {
				delete(n, bound)
			}
		}
		for _, child := range n {
			dropBounds(child)
		}
	case []any:
		for _, child := range n {
			dropBounds(child)
		}
	}
}

// eventually tries until it works, for half a minute.
func eventually(ctx context.Context, try func() error) error {
	const long, pause = 30 * time.Second, 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// runAll runs the sequences, a number of them at a time.
func (c *cluster) runAll(t *testing.T, seeds []uint64, moving bool) {
	t.Helper()
	queue := make(chan uint64)
	var group sync.WaitGroup
	for range *workers {
		group.Go(func() {
			for seed := range queue {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { c.run(t, seed, moving) })
			}
		})
	}
	for _, seed := range seeds {
		queue <- seed
	}
	close(queue)
	group.Wait()
}

func (c *cluster) run(t *testing.T, seed uint64, moving bool) {
	t.Helper()
	steps := plan(seed, moving)
	k, err := c.newCorner(t.Context(), fmt.Sprintf("s%d", seed), moving)
	if err != nil {
		t.Fatal(err)
	}
	k.unhurried = seed%unhurried == 0
	failure := k.take(t.Context(), steps)
	if failure == nil {
		return
	}
	t.Errorf("seed %d: %v\n\nThe steps:\n%s", seed, failure, describe(steps))
	fewer, last := c.shrink(t.Context(), fmt.Sprintf("s%d", seed), steps, moving)
	if last != nil {
		t.Errorf("seed %d fails with these steps alone:\n%s\n%v", seed, describe(fewer), last)
	}
}

func describe(steps []step) string {
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, s.name)
	}
	return b.String()
}
