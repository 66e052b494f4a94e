// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// theGateway is the tenant's.
func theGateway() types.NamespacedName {
	return types.NamespacedName{Namespace: "ingress", Name: "maas"}
}

// service is one with a port and an owner.
func service(name string, port int32, kind, apiVersion, owner string) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ingress", Name: name}}
	s.Labels = map[string]string{"gateway.networking.k8s.io/gateway-name": "maas"} // What the list is for.
	s.Spec.Ports = []corev1.ServicePort{{Port: 15021}, {Port: port}}
	if kind != "" {
		s.OwnerReferences = []metav1.OwnerReference{{Kind: kind, APIVersion: apiVersion, Name: owner}}
	}
	return s
}

// services answers lists with what it holds then.
type services struct {
	items    []corev1.Service
	err      error
	selector string
	asked    int
}

func (s *services) reaction() react {
	return react{"list", "services", func(action ktesting.Action) (runtime.Object, error) {
		s.asked++
		s.selector = action.(ktesting.ListAction).GetListRestrictions().Labels.String()
		return &corev1.ServiceList{Items: s.items}, s.err
	}}
}

func newGateways(tb testing.TB, answers ...react) (*Gateways, *clocktesting.FakeClock) {
	tb.Helper()
	c := clocktesting.NewFakeClock(epoch)
	g, err := NewGateways(GatewaysOptions{Clients: clients(answers...), Gateway: theGateway(), Clock: c, Log: discard()})
	if err != nil {
		tb.Fatal(err)
	}
	return g, c
}

func TestTheServiceOfAGateway(t *testing.T) {
	t.Parallel()
	const group = "gateway.networking.k8s.io/"
	good := service("maas-istio", 443, "Gateway", group+"v1", "maas")
	for name, test := range map[string]struct {
		services []corev1.Service
		want     string
	}{
		"is the one with port 443 that the gateway owns": {[]corev1.Service{good}, "maas-istio.ingress.svc.cluster.local"},
		"may be owned in an older version":               {[]corev1.Service{service("old", 443, "Gateway", group+"v1beta1", "maas")}, "old.ingress.svc.cluster.local"},
		"is none of somebody else": {[]corev1.Service{
			service("nobodys", 443, "", "", ""), service("istios", 443, "Gateway", "networking.istio.io/v1", "maas"),
			service("others", 443, "Gateway", group+"v1", "other"), service("deployments", 443, "Deployment", group+"v1", "maas"), good,
		}, "maas-istio.ingress.svc.cluster.local"},
		"is not there without any":        {nil, ""},
		"is not there without port 443":   {[]corev1.Service{service("plain", 80, "Gateway", group+"v1", "maas")}, ""},
		"is not there when there are two": {[]corev1.Service{good, service("second", 443, "Gateway", group+"v1", "maas")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &services{items: test.services}
			g, _ := newGateways(t, s.reaction())
			got, err := g.GatewayAddress(t.Context())
			if got != test.want || errors.Is(err, ErrNoGatewayService) != (test.want == "") {
				t.Errorf("GatewayAddress() = %q, %v, want %q", got, err, test.want)
			}
			if s.selector != "gateway.networking.k8s.io/gateway-name=maas" {
				t.Errorf("selector %s", s.selector)
			}
		})
	}
}

func TestTheServiceOfAGatewayIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := &services{}
	g, clock := newGateways(t, s.reaction())
	want := func(step time.Duration, address string, asked int) {
		t.Helper()
		clock.Step(step)
		got, err := g.GatewayAddress(t.Context())
		if got != address || (err == nil) != (address != "") || s.asked != asked {
			t.Errorf("GatewayAddress() = %q, %v after %d questions, want %q after %d", got, err, s.asked, address, asked)
		}
	}
	const first, second = "first.ingress.svc.cluster.local", "second.ingress.svc.cluster.local"
	want(0, "", 1)
	s.items = []corev1.Service{service("first", 443, "Gateway", "gateway.networking.k8s.io/v1", "maas")}
	want(4*time.Second, "", 1)
	want(2*time.Second, first, 2)
	s.items[0].Name = "second"
	want(50*time.Second, first, 2)
	want(11*time.Second, second, 3)
	s.err = errDown // The address that is known keeps counting.
	want(61*time.Second, second, 4)
	want(4*time.Second, second, 4)
	s.err, s.items = nil, nil // Until there is none.
	want(2*time.Second, "", 5)
	s.err = errDown
	want(6*time.Second, "", 6)
}

func TestWhoGoesAwayLearnsNothingAboutTheGateway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &services{err: context.Canceled}
	g, _ := newGateways(t, s.reaction())
	cancel()
	if _, err := g.GatewayAddress(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("GatewayAddress() error = %v", err)
	}
	s.err, s.items = nil, []corev1.Service{service("maas", 443, "Gateway", "gateway.networking.k8s.io/v1", "maas")}
	if got, err := g.GatewayAddress(t.Context()); got == "" || err != nil {
		t.Errorf("GatewayAddress() = %q, %v", got, err)
	}
}

// An API server that hangs uses up the time of whoever asks.
func TestKnownAddressKeepsCountingWhileTheAPIServerHangs(t *testing.T) {
	t.Parallel()
	s := &services{items: []corev1.Service{service("maas", 443, "Gateway", "gateway.networking.k8s.io/v1", "maas")}}
	g, clock := newGateways(t, s.reaction())
	if _, err := g.GatewayAddress(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Step(foundFor)
	s.err = context.DeadlineExceeded
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const want = "maas.ingress.svc.cluster.local"
	// A select between two cases that are both ready takes either.
	for range 20 {
		if got, err := g.GatewayAddress(ended); got != want || err != nil {
			t.Fatalf("GatewayAddress() = %q, %v, want %q", got, err, want)
		}
		clock.Step(missedFor)
	}
}

func TestTheGatewayIsReadWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	var answer error
	g, _ := newGateways(t, react{"get", "gateways", func(ktesting.Action) (runtime.Object, error) {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
			"spec":   map[string]any{"listeners": []any{map[string]any{"name": "https", "protocol": "HTTPS", "port": int64(443), "hostname": "maas.example.com"}}},
			"status": map[string]any{"listeners": []any{map[string]any{"name": "https", "attachedRoutes": int64(2)}}},
		}}, answer
	}})
	if got, err := g.External(t.Context()); err != nil || got.URL != "https://maas.example.com" {
		t.Errorf("External() = %+v, %v", got, err)
	}
	answer = apierrors.NewNotFound(gateways.GroupResource(), "maas")
	if _, err := g.External(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("External() error = %v", err)
	}
}

func TestTheDatabaseURLComesFromASecret(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{Data: map[string][]byte{"url": []byte("postgres://user:secret@db/maas"), "empty": {}}}
	c := clients(react{"get", "secrets", func(action ktesting.Action) (runtime.Object, error) {
		if action.(ktesting.GetAction).GetName() != "maas-db-config" {
			return nil, apierrors.NewNotFound(corev1.Resource("secrets"), "other")
		}
		return secret, nil
	}})
	if got, err := c.DatabaseURL(t.Context(), "infra", "maas-db-config", "url"); err != nil || got != "postgres://user:secret@db/maas" {
		t.Errorf("DatabaseURL() error = %v", err)
	}
	for _, key := range []string{"empty", "missing"} {
		if _, err := c.DatabaseURL(t.Context(), "infra", "maas-db-config", key); !errors.Is(err, ErrNoDatabaseURL) {
			t.Errorf("DatabaseURL(%s) error = %v", key, err)
		}
	}
	if _, err := c.DatabaseURL(t.Context(), "infra", "other", "url"); !apierrors.IsNotFound(err) {
		t.Errorf("DatabaseURL() error = %v", err)
	}
}

func TestGatewaysNeedSensibleOptions(t *testing.T) {
	t.Parallel()
	good := GatewaysOptions{Clients: clients(), Gateway: theGateway(), Clock: clocktesting.NewFakeClock(epoch), Log: discard()}
	for name, change := range map[string]func(*GatewaysOptions){
		"no clients":   func(o *GatewaysOptions) { o.Clients = nil },
		"no clock":     func(o *GatewaysOptions) { o.Clock = nil },
		"no log":       func(o *GatewaysOptions) { o.Log = nil },
		"no name":      func(o *GatewaysOptions) { o.Gateway.Name = "" },
		"no namespace": func(o *GatewaysOptions) { o.Gateway.Namespace = "" },
	} {
		o := good
		change(&o)
		if _, err := NewGateways(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
