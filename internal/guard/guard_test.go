// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/guard"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

var (
	route   = types.NamespacedName{Namespace: "llm", Name: "gpt"}
	gateway = types.NamespacedName{Namespace: "gateways", Name: "default"}
)

func TestSightings(t *testing.T) {
	t.Parallel()
	var s guard.Sightings
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(uid types.UID, at time.Time) opening.Guard {
		return opening.Guard{Route: opening.Route{UID: uid}, Since: s.Since(route, uid), Now: at}
	}
	if !s.Since(route, "1").IsZero() {
		t.Error("a route was seen before it was seen")
	}
	s.Note(route, of("1", now), opening.Verdict{Guarded: true})
	s.Note(route, of("1", now.Add(time.Minute)), opening.Verdict{Guarded: true})
	if got := s.Since(route, "1"); !got.Equal(now) {
		t.Errorf("Since() = %s, want the first time", got)
	}
	if !s.Since(route, "2").IsZero() {
		t.Error("a new route of the name has the time of the former one")
	}
	s.Note(route, of("1", now), opening.Verdict{})
	if !s.Since(route, "1").IsZero() {
		t.Error("a route that is not guarded any more is remembered")
	}
	s.Note(route, of("1", now), opening.Verdict{Guarded: true})
	s.Forget(route)
	if !s.Since(route, "1").IsZero() {
		t.Error("a forgotten route is remembered")
	}
}

func TestConfiguredRemembers(t *testing.T) {
	t.Parallel()
	var c guard.Configured
	if c.Seen(gateway, "") || c.Seen(gateway, "text") {
		t.Error("a configuration was seen before it was there")
	}
	if !c.Seen(gateway, "") || c.Seen(route, "") {
		t.Error("the configuration of a gateway is forgotten, or that of another is remembered")
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	const action = `{"scope":"x","sources":["authpolicy.kuadrant.io:llm/a"]}`
	for name, tc := range map[string]struct {
		stored string
		rules  int
		seen   bool
		want   opening.Configuration
	}{
		"never there":                {"", 1, false, opening.Silent},
		"not there any more":         {"", 1, true, opening.Lacking},
		"without names of policies":  {`[{"scope":"x"}]`, 1, true, opening.Silent},
		"with one action of two":     {"[" + action + "]", 2, true, opening.Lacking},
		"with all of them":           {"[" + action + "," + action + "]", 2, true, opening.Holding},
		"with those of other models": {strings.ReplaceAll("["+action+"]", "llm/a", "llm/b"), 1, true, opening.Lacking},
	} {
		if got := guard.Holds(tc.stored, "llm/a", tc.rules, tc.seen); got != tc.want {
			t.Errorf("%s: Holds() = %d, want %d", name, got, tc.want)
		}
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	object := func(version, kind string) client.Object {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(version)
		u.SetKind(kind)
		u.SetNamespace(gateway.Namespace)
		u.SetName("kuadrant-" + gateway.Name)
		return u
	}
	filter, plugin := object("networking.istio.io/v1alpha3", "EnvoyFilter"), object("extensions.istio.io/v1alpha1", "WasmPlugin")
	all := func(facts.API) (bool, error) { return true, nil }
	for name, tc := range map[string]struct {
		objects []client.Object
		served  func(facts.API) (bool, error)
		want    string
		found   bool
	}{
		"of a new Kuadrant":     {[]client.Object{filter, plugin}, all, "EnvoyFilter gateways/kuadrant-default", true},
		"of an old Kuadrant":    {[]client.Object{plugin}, all, "WasmPlugin gateways/kuadrant-default", true},
		"that is not there yet": {nil, all, "EnvoyFilter gateways/kuadrant-default", false},
		"without the newer kind": {
			nil, func(api facts.API) (bool, error) { return api.CRD == guard.WasmPlugins.CRD, nil }, "WasmPlugin gateways/kuadrant-default", false,
		},
		"without either kind": {nil, func(facts.API) (bool, error) { return false, nil }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := fakecluster.Holding(runtime.NewScheme(), tc.objects...).Build()
			name, stored, err := guard.Stored(t.Context(), reader, tc.served, gateway)
			if err != nil || name != tc.want || (stored != "") != tc.found {
				t.Errorf("Stored() = %q, %q, %v, want %q, found = %t", name, stored, err, tc.want, tc.found)
			}
		})
	}
	down := errors.New("down")
	_, _, err := guard.Stored(context.Background(), nil, func(facts.API) (bool, error) { return false, down }, gateway)
	if !errors.Is(err, down) {
		t.Errorf("Stored() error = %v, want that of the question", err)
	}
}
