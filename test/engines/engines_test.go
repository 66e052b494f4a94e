// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// startTimeout is generous: with a cold cache it compiles all programs.
const startTimeout = 40 * time.Minute

// site is a control plane with a route, and what plays its gateway.
type site struct {
	env   *testenv.Env
	admin client.Client
	route *gwapiv1.HTTPRoute
}

// stopping ends something with the test.
func stopping(t *testing.T, stop func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func newSite(ctx context.Context, t *testing.T) *site {
	t.Helper()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: engines.KuadrantCRDs(), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	stopping(t, env.Stop)
	scheme := runtime.NewScheme()
	if err := gwapiv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	s := &site{env: env, route: builder.Route("default", "route", "default", "gateway").Path("/").Obj()}
	if s.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	player, err := standins.StartGateway(ctx, env.AdminConfig(), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopping(t, player.Stop)
	s.create(ctx, t, builder.Gateway(builder.Key("default", "gateway"), "maas.example.com"), s.route)
	return s
}

func (s *site) create(ctx context.Context, t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := s.admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// policy is one for the route.
func (s *site) policy(version, kind string, spec map[string]any) *unstructured.Unstructured {
	spec["targetRef"] = map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": s.route.Name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kuadrant.io/" + version, "kind": kind, "spec": spec,
		"metadata": map[string]any{"namespace": s.route.Namespace, "name": strings.ToLower(kind)},
	}}
}

// awaitEnforced waits until Kuadrant says that a policy is carried out.
func (s *site) awaitEnforced(ctx context.Context, t *testing.T, policy *unstructured.Unstructured) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 3*eventually, true, func(ctx context.Context) (bool, error) {
		return s.enforced(ctx, policy)
	})
	if err != nil {
		t.Errorf("%s is not enforced: %v: %v", policy.GetKind(), err, policy.Object["status"])
	}
}

func TestTheRealEnginesCarryOutPolicies(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s := newSite(ctx, t)
	authorino, err := engines.StartAuthorino(ctx, engines.AuthorinoOptions{Kubeconfig: s.env.Kubeconfig(), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	stopping(t, authorino.Stop)
	kuadrant, err := engines.StartKuadrant(ctx, engines.KuadrantOptions{Kubeconfig: s.env.Kubeconfig(), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kuadrant.Stop() }) // It says that it was killed.

	auth := s.policy("v1", "AuthPolicy", map[string]any{"rules": map[string]any{"authentication": map[string]any{
		"everybody": map[string]any{"anonymous": map[string]any{}},
	}}})
	limits := s.policy("v1alpha1", "TokenRateLimitPolicy", map[string]any{"limits": map[string]any{
		"all": map[string]any{"rates": []any{map[string]any{"limit": int64(10), "window": "1m"}}},
	}})
	s.create(ctx, t, auth, limits)
	s.awaitEnforced(ctx, t, auth)
	s.awaitEnforced(ctx, t, limits)
	for name, metrics := range map[string]string{"Kuadrant": kuadrant.Metrics, "Authorino": authorino.Metrics} {
		wantMetrics(ctx, t, name, metrics)
	}
	if err := errors.Join(authorino.Err(), kuadrant.Err()); err != nil {
		t.Error(err)
	}
	// What ends by itself says so, whoever asks.
	if err := kuadrant.Process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-kuadrant.Done()
	if err := kuadrant.Err(); err == nil || !strings.Contains(err.Error(), "kuadrant-operator ended by itself") {
		t.Errorf("of an operator that was killed is said %v", err)
	}
}

func wantMetrics(ctx context.Context, t *testing.T, name, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Errorf("metrics of %s: %v", name, err)
		return
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("metrics of %s: %s", name, response.Status)
	}
}

func TestKuadrantDoesNotStartWithoutWhatItWouldNotFindLater(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.Limitador}, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	stopping(t, env.Stop)
	_, err = engines.StartKuadrant(ctx, engines.KuadrantOptions{Kubeconfig: env.Kubeconfig(), Dir: filepath.Join(t.TempDir(), "kuadrant"), Out: t.Output()})
	if err == nil || !strings.Contains(err.Error(), `no matches for kind "EnvoyFilter"`) {
		t.Errorf("StartKuadrant() = %v, want an error about EnvoyFilter", err)
	}
}
