// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard finds out whether a route is guarded, for the decision in
// internal/desired/opening: it remembers since when a route was seen guarded, and reads
// what Kuadrant has put into the configuration of a gateway. It decides nothing, and
// writes nothing to the cluster.
package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Kinds in which Kuadrant keeps the configuration of a gateway: EnvoyFilters since its
// version 1.5, WasmPlugins before.
var (
	EnvoyFilters = facts.API{GroupKind: schema.GroupKind{Group: "networking.istio.io", Kind: "EnvoyFilter"}, CRD: "envoyfilters.networking.istio.io", Versions: []string{"v1alpha3"}}
	WasmPlugins  = facts.API{GroupKind: schema.GroupKind{Group: "extensions.istio.io", Kind: "WasmPlugin"}, CRD: "wasmplugins.extensions.istio.io", Versions: []string{"v1alpha1"}}
)

// Sightings remember, by whatever a route belongs to, since when the route is seen
// guarded while it does not lead everywhere yet. They are safe for concurrent use.
type Sightings struct {
	mu    sync.Mutex
	known map[types.NamespacedName]sighting
}

type sighting struct {
	route types.UID
	since time.Time
}

// Since is when a route was first seen guarded; the zero time when it was not.
func (s *Sightings) Since(key types.NamespacedName, route types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[key]; known.route == route {
		return known.since
	}
	return time.Time{}
}

// Note takes down what was found out about a route that was judged by the guard.
func (s *Sightings) Note(key types.NamespacedName, g opening.Guard, v opening.Verdict) {
	switch {
	case !v.Guarded:
		s.Forget(key)
	case g.Since.IsZero():
		s.set(key, sighting{route: g.Route.UID, since: g.Now})
	}
}

func (s *Sightings) set(key types.NamespacedName, to sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[types.NamespacedName]sighting{}
	}
	s.known[key] = to
}

// Forget is for a route that leads everywhere, or is gone.
func (s *Sightings) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// Configured remember of which gateways a configuration was seen. They are safe for
// concurrent use.
type Configured struct{ known sync.Map }

// Seen tells whether a gateway had a configuration before, and notes whether it has one
// now.
func (c *Configured) Seen(gateway types.NamespacedName, stored string) bool {
	_, before := c.known.Load(gateway)
	if stored != "" {
		c.known.Store(gateway, struct{}{})
	}
	return before
}

// Stored is the configuration that Kuadrant keeps for a gateway: its name for people, and
// its text, which is empty when it does not exist. The reader is to read past any cache.
func Stored(ctx context.Context, reader client.Reader, served func(facts.API) (bool, error), gateway types.NamespacedName) (object, stored string, err error) {
	absent := ""
	key := types.NamespacedName{Namespace: gateway.Namespace, Name: "kuadrant-" + gateway.Name}
	for _, api := range []facts.API{EnvoyFilters, WasmPlugins} {
		if ok, err := served(api); err != nil || !ok {
			if err != nil {
				return "", "", err
			}
			continue
		}
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(api.GroupKind.WithVersion(api.Versions[0]))
		found, err := fetch.Optional(ctx, reader, key, empty)
		if err != nil {
			return "", "", err
		}
		name := fmt.Sprintf("%s %s", api.GroupKind.Kind, key)
		if found == nil {
			absent = cmp.Or(absent, name)
			continue
		}
		text, err := json.Marshal(found.Object)
		if err != nil {
			return "", "", fmt.Errorf("measure %s: %w", name, err)
		}
		return name, string(text), nil
	}
	return absent, "", nil
}

// Holds tells what a stored configuration says of the rules that a policy,
// "<namespace>/<name>", guards. One that does not exist says nothing, unless it was seen
// before.
func Holds(stored, policy string, rules int, seen bool) opening.Configuration {
	switch {
	case stored == "" && seen:
		return opening.Lacking
	case stored == "" || kuadrant.Unsourced(stored):
		return opening.Silent
	case kuadrant.Actions(stored, policy) < rules:
		return opening.Lacking
	default:
		return opening.Holding
	}
}
