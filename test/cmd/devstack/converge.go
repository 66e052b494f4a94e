// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

const convergePoll = 250 * time.Millisecond

// converge waits until the samples are in force, telling what it waits for
// whenever that changes. What somebody else put into the stack is theirs to fix.
func converge(ctx context.Context, c client.Client, p *progress, samples []*unstructured.Unstructured) error {
	var last []string
	err := poll(ctx, convergeTimeout, convergePoll, func(ctx context.Context) (bool, error) {
		w, err := readWorld(ctx, c)
		if err != nil {
			return false, err
		}
		pending := w.only(samples).pending()
		if !slices.Equal(pending, last) && len(pending) > 0 {
			p.say("waiting for %d: %s", len(pending), pending[0])
		}
		last = pending
		return len(pending) == 0, nil
	})
	if err != nil && len(last) > 0 {
		return fmt.Errorf("%w; still waiting for:\n%s", err, indent(strings.Join(last, "\n")))
	}
	return err
}

// only returns the part of the world that the samples declare.
func (w *world) only(samples []*unstructured.Unstructured) *world {
	declared := map[string]bool{}
	for _, o := range samples {
		declared[o.GetKind()+" "+client.ObjectKeyFromObject(o).String()] = true
	}
	foreign := func(kind string, o client.Object) bool {
		return !declared[kind+" "+client.ObjectKeyFromObject(o).String()]
	}
	return &world{
		models: slices.DeleteFunc(slices.Clone(w.models), func(m v1alpha1.MaaSModelRef) bool { return foreign("MaaSModelRef", &m) }),
		authPolicies: slices.DeleteFunc(slices.Clone(w.authPolicies), func(p v1alpha1.MaaSAuthPolicy) bool {
			return foreign("MaaSAuthPolicy", &p)
		}),
		subscriptions: slices.DeleteFunc(slices.Clone(w.subscriptions), func(s v1alpha1.MaaSSubscription) bool {
			return foreign("MaaSSubscription", &s)
		}),
		generated: w.generated,
	}
}

// pending lists what is not in force yet, in a stable order.
func (w *world) pending() []string {
	var out []string
	late := func(kind string, o client.Object, observed int64, phase, want string) {
		switch {
		case observed != o.GetGeneration():
			out = append(out, fmt.Sprintf("%s %s: not looked at yet", kind, client.ObjectKeyFromObject(o)))
		case phase != want:
			out = append(out, fmt.Sprintf("%s %s: %s, not %s yet", kind, client.ObjectKeyFromObject(o), phase, want))
		}
	}
	for i := range w.models {
		m := &w.models[i]
		late("MaaSModelRef", m, m.Status.ObservedGeneration, string(m.Status.Phase), string(v1alpha1.ModelPhaseReady))
	}
	for i := range w.authPolicies {
		p := &w.authPolicies[i]
		late("MaaSAuthPolicy", p, p.Status.ObservedGeneration, string(p.Status.Phase), string(v1alpha1.PhaseActive))
	}
	for i := range w.subscriptions {
		s := &w.subscriptions[i]
		late("MaaSSubscription", s, s.Status.ObservedGeneration, string(s.Status.Phase), string(v1alpha1.PhaseActive))
	}
	out = append(out, w.pendingPolicies()...)
	slices.Sort(out)
	return out
}

// pendingPolicies lists the generated objects that are missing or not enforced.
func (w *world) pendingPolicies() []string {
	var out []string
	for _, want := range w.wanted() {
		state := "missing"
		for i := range w.generated {
			u := &w.generated[i]
			if u.GetKind() == string(want.kind) && generatedFor(u, want.model) {
				state = enforcement(u)
			}
		}
		if state != "Enforced" {
			out = append(out, fmt.Sprintf("%s of model %s: %s", want.kind, want.model, state))
		}
	}
	return out
}

type wantedPolicy struct {
	kind  kuadrant.Kind
	model types.NamespacedName
}

// wanted lists the policies that the declared objects call for.
func (w *world) wanted() []wantedPolicy {
	var out []wantedPolicy
	add := func(kind kuadrant.Kind, namespace, name string) {
		want := wantedPolicy{kind: kind, model: types.NamespacedName{Namespace: namespace, Name: name}}
		if !slices.Contains(out, want) {
			out = append(out, want)
		}
	}
	for _, p := range w.authPolicies {
		for _, ref := range p.Spec.ModelRefs {
			add(kuadrant.AuthPolicy, ref.Namespace, ref.Name)
		}
	}
	for _, s := range w.subscriptions {
		for _, ref := range s.Spec.ModelRefs {
			add(kuadrant.TokenRateLimitPolicy, ref.Namespace, ref.Name)
		}
	}
	return out
}

// poll calls done until it is satisfied, fails, or the time is over.
func poll(ctx context.Context, timeout, interval time.Duration, done func(context.Context) (bool, error)) error {
	waitCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		ok, err := done(waitCtx)
		if ok {
			return nil
		}
		if err != nil && waitCtx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-waitCtx.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("not done within %s", timeout)
		}
	}
}
