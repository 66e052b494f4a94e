// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/guard"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

const (
	// weighAfter is when the configuration of a Gateway is read again although nothing
	// happened here. As a rule something does: whatever has Kuadrant compute it anew
	// changes the status of the tenant's own policies, too, which is watched. But those
	// may be out of our hands, or done before it is written.
	weighAfter = 10 * time.Minute
	// heavy is the size from which on it is not read each time, and stale the age at
	// which it is read again then, and compared with the models, however large it is.
	heavy = tenantstatus.MaxConfiguration / 8
	stale = time.Minute
)

// weight is what was last read of the configuration of a tenant's Gateway.
type weight struct {
	gateway       types.NamespacedName
	configuration tenantstatus.Configuration
	read          time.Time
	// compared is when it was last looked who is in it.
	compared time.Time
	// seen tells that it has been there, ever since this operator began.
	seen bool
}

// weights are those of all tenants.
type weights struct {
	mu    sync.Mutex
	known map[types.NamespacedName]weight
}

func (w *weights) of(key types.NamespacedName) weight {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[key]
}

func (w *weights) set(key types.NamespacedName, to weight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[types.NamespacedName]weight{}
	}
	w.known[key] = to
}

func (w *weights) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, key)
}

// weigh warns when what Kuadrant generates for the Gateway gets near to what a cluster
// stores, when models are not in it, and when it is not safe. Nothing that the tenant has depends on it: when
// it cannot be read, what was known stays.
func (r *Reconciler) weigh(ctx context.Context, s *scope) {
	key, gateway, now := client.ObjectKeyFromObject(s.config), s.input.Tenant.Gateway, r.Clock.Now()
	if !s.served[envoyFilters.CRD] && !s.served[wasmPlugins.CRD] {
		r.forgetWeight(key)
		return
	}
	known := r.weights.of(key)
	if known.gateway != gateway {
		known = weight{gateway: gateway}
	}
	if age := now.Sub(known.read); known.configuration.Bytes >= heavy && age < stale {
		s.lookAgain(stale - age)
	} else if read, err := r.weighAnew(ctx, s, known); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Going on without the size of the Gateway's configuration", "Gateway", gateway)
		s.lookAgain(stale)
	} else {
		known = read
		r.weights.set(key, known)
		r.Metrics.SetConfiguration(key, gateway, known.configuration.Bytes)
		s.lookAgain(weighAfter)
		if known.configuration.Missing != "" {
			s.lookAgain(stale) // What is put right should soon be said to be.
		}
	}
	s.facts.Warnings = append(s.facts.Warnings, known.configuration.Warnings()...)
}

// weighAnew reads the configuration, and compares it with the tenant's models when that
// was not done of late: it takes a look at all policies of the cluster. Whatever changed
// meanwhile is seen by another look, which a tenant without models does not need.
func (r *Reconciler) weighAnew(ctx context.Context, s *scope, known weight) (weight, error) {
	next := known
	next.read = r.Clock.Now()
	models, err := r.byPolicy(ctx, s)
	if err != nil {
		return known, err
	}
	age, guarded := next.read.Sub(known.compared), map[string]string(nil)
	fresh := age < stale
	switch {
	case len(models) == 0:
		fresh = false // Nothing can be missing.
	case fresh:
		s.lookAgain(stale - age)
	default:
		if guarded, err = r.guarded(ctx, models); err != nil { // Before what follows from it.
			return known, err
		}
		if len(guarded) < len(models) {
			s.lookAgain(stale)
		}
		next.compared = next.read
	}
	read, err := r.readConfiguration(ctx, s, guarded)
	switch {
	case fresh:
		read.Missing = known.configuration.Missing
	case !known.seen && read.Bytes == 0:
		read.Missing = "" // Kuadrant keeps it elsewhere, for Gateways of another kind of proxy.
	}
	next.configuration, next.seen = read, known.seen || read.Bytes > 0
	return next, err
}

// readConfiguration reads past the cache: it would keep all objects of these kinds.
func (r *Reconciler) readConfiguration(ctx context.Context, s *scope, guarded map[string]string) (tenantstatus.Configuration, error) {
	object, stored, err := r.storedConfiguration(ctx, s)
	switch {
	case err != nil:
		return tenantstatus.Configuration{}, err
	case stored == "":
		return tenantstatus.Configuration{Object: object, Missing: firstWithout(guarded, nil)}, nil
	default:
		return tenantstatus.Configuration{Object: object, Bytes: len(stored), Missing: missing(guarded, kuadrant.Sources(stored)), Services: kuadrant.Services(stored)}, nil
	}
}

// storedConfiguration is the object, for people, and its text; empty when it does not
// exist.
func (r *Reconciler) storedConfiguration(ctx context.Context, s *scope) (object, stored string, err error) {
	served := func(api facts.API) (bool, error) { return s.served[api.CRD], nil }
	return guard.Stored(ctx, r.APIReader, served, s.input.Tenant.Gateway)
}

// byPolicy are the tenant's models by their AuthPolicy, both as "<namespace>/<name>".
func (r *Reconciler) byPolicy(ctx context.Context, s *scope) (map[string]string, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list MaaSModelRefs: %w", err)
	}
	out := map[string]string{}
	for i := range list.Items {
		if m := &list.Items[i]; m.Status.Tenant == s.input.Tenant.Name {
			out[m.Namespace+"/"+model.AuthPolicyName(m.Name)] = m.Namespace + "/" + m.Name
		}
	}
	return out, nil
}

// guarded are those of the models whose AuthPolicy Kuadrant has called enforced for a
// while. It says so once it has tried to write the configuration. Nothing tells of the
// moment, so it is looked for while there are others.
func (r *Reconciler) guarded(ctx context.Context, models map[string]string) (map[string]string, error) {
	var policies unstructured.UnstructuredList
	policies.SetGroupVersionKind(kuadrant.AuthPolicy)
	if err := r.Client.List(ctx, &policies, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list AuthPolicies: %w", err)
	}
	out := map[string]string{}
	for i := range policies.Items {
		key := client.ObjectKeyFromObject(&policies.Items[i]).String()
		since, enforced := kuadrant.EnforcedSince(&policies.Items[i])
		if models[key] != "" && enforced && r.Clock.Now().Sub(since) >= stale {
			out[key] = models[key]
		}
	}
	return out, nil
}

// missing is the first of the models whose policy is not among the sources of a
// configuration. One that names no sources says nothing.
func missing(guarded map[string]string, sources map[string]bool) string {
	if len(sources) == 0 {
		return ""
	}
	return firstWithout(guarded, sources)
}

// firstWithout is the first of the models whose policy is not among the sources.
func firstWithout(guarded map[string]string, sources map[string]bool) string {
	found := ""
	for policy, name := range guarded {
		if !sources[policy] && (found == "" || name < found) {
			found = name
		}
	}
	return found
}

// forgetWeight is for a config that is gone.
func (r *Reconciler) forgetWeight(key types.NamespacedName) {
	r.weights.forget(key)
	r.Metrics.ForgetConfiguration(key)
}
