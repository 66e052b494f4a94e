// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var (
	first     = flag.Uint64("chaos.first", 1, "seed of the first sequence")
	sequences = flag.Uint64("chaos.sequences", 2, "number of sequences, with successive seeds")
	patience  = flag.Duration("chaos.patience", 90*time.Second, "time that a sequence may take to settle")
	verbose   = flag.Bool("chaos.story", false, "tell what happened in sequences that pass, too")
	operator  = flag.String("chaos.operator", "", "program of the operator; empty means build it")
)

func TestMain(m *testing.M) { os.Exit(logs.Main(m)) }

func TestSequencesLeaveWhatTheModelSays(t *testing.T) {
	c := newCluster(t)
	for seed := *first; seed < *first+*sequences; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { c.run(t, seed) })
	}
	forbidden, err := c.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden())
	if err != nil || len(forbidden) > 0 {
		t.Errorf("requests of the operator that were forbidden: %v, %v", forbidden, err)
	}
}

// cluster is what all sequences share, one after the other.
type cluster struct {
	*stage.Stage
	kinds []schema.GroupVersionKind
	pods  *pods
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctrl.SetLogger(logr.Discard()) // The stand-ins have nothing to tell.
	on, err := stage.Start(t.Context(), stage.Options{
		Binary: *operator, Log: t.Output(), Tenants: true, Controllers: true, WithoutOperator: true,
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.Istio, testenv.CertManager},
		Env: []string{
			"RELATED_IMAGE_ODH_MAAS_API_IMAGE=registry.example.com/maas-api:chaos",
			"AITENANT_DELETION_TIMEOUT=0", // What is forced proves nothing.
		},
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(0, 20*time.Millisecond)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{Stage: on, pods: newPods(on.Admin)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		if err := on.Stop(); err != nil {
			t.Error(err)
		}
	})
	go c.pods.run(ctx)
	if err := c.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// prepare makes what tenants need of others, and starts the operator.
func (c *cluster) prepare(ctx context.Context) (err error) {
	for _, name := range []string{authorinoNamespace, infra} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.ensure(ctx, namespace); err != nil {
			return err
		}
	}
	if err := errors.Join(c.ensure(ctx, authorino()), c.ensure(ctx, databaseSecret())); err != nil {
		return err
	}
	if c.kinds, err = listable(c.Env.AdminConfig()); err != nil {
		return err
	}
	if err := c.Operator.Start(ctx); err != nil {
		return err
	}
	return c.reset(ctx)
}

func (c *cluster) run(t *testing.T, seed uint64) {
	t.Helper()
	p := planOf(seed)
	k := newCourse(c, p)
	begin := time.Now()
	err := k.take(t.Context())
	if err == nil {
		t.Logf("seed %d: %d steps, %d kills, %s", seed, len(p.steps), k.killer.count, time.Since(begin).Round(10*time.Millisecond))
		if *verbose {
			t.Logf("What happened:\n%s", k.story())
		}
		return
	}
	t.Errorf("seed %d: %v\n\nWhat happened:\n%s", seed, err, k.story())
	c.copyLog(t)
	if err := c.reset(context.WithoutCancel(t.Context())); err != nil {
		t.Fatalf("seed %d left the cluster in a state that cannot be mended: %v", seed, err)
	}
}

// copyLog shows the end of the operator's log.
func (c *cluster) copyLog(t *testing.T) {
	t.Helper()
	const tail = 24 << 10
	content, err := os.ReadFile(c.Operator.LogFile())
	if err != nil {
		t.Log(err)
	}
	t.Logf("%s ends with:\n%s", c.Operator.LogFile(), content[max(0, len(content)-tail):])
}

const (
	infra              = "odh-ai-gateway-infra"
	authorinoNamespace = "kuadrant-system"
)

func databaseSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
	}
}

// authorino is an instance as the installation of Kuadrant makes it, with TLS.
func authorino() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"listener":   map[string]any{"tls": map[string]any{"enabled": true, "certSecretRef": map[string]any{"name": "authorino-tls"}}},
		"oidcServer": map[string]any{"tls": map[string]any{"enabled": false}},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.authorino.kuadrant.io", Version: "v1beta1", Kind: "Authorino"})
	o.SetNamespace(authorinoNamespace)
	o.SetName("authorino")
	return o
}
