// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// sharedKinds are the kinds of what the models of a host share. The ServiceEntry goes
// first: without the DestinationRule it would lead to the host without TLS.
func sharedKinds() []facts.API { return []facts.API{serviceEntries, destinationRules} }

// shared are the live objects of a kind that were made for ExternalModels. They are the
// cache's: they must not be changed.
func (r *Reconciler) shared(ctx context.Context, reader client.Reader, s *scope, api facts.API, opts ...client.ListOption) ([]*unstructured.Unstructured, error) {
	if !s.served[api.CRD] {
		return nil, nil
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(api.GroupKind.WithVersion(api.Versions[0]))
	opts = append(opts, client.UnsafeDisableDeepCopy, client.MatchingLabels{v1alpha1.LabelPartOf: v1alpha1.PartOfExternalModel})
	if err := reader.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list what ExternalModels share, of kind %s: %w", api.GroupKind.Kind, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

// holdings are those of the model, of its host and of former ones.
func (r *Reconciler) holdings(ctx context.Context, s *scope, api facts.API) ([]*unstructured.Unstructured, error) {
	all, err := r.shared(ctx, r.Client, s, api, client.InNamespace(s.model.Namespace))
	var own []*unstructured.Unstructured
	for _, live := range all {
		if s.owns(live) {
			own = append(own, live)
		}
	}
	return own, err
}

// way is how the Gateway gets to the model's provider.
func (s *scope) way() external.Way {
	provider := s.input.Provider
	return external.Way{
		Host: provider.Host, Gateway: s.input.Gateway.Namespace,
		Port: external.Port{Number: provider.Port, TLS: external.Secure(provider, s.claims)},
	}
}

// reach finds out whether the Gateway can get to the provider, by what is there before the
// route is written: the model's own objects, or those of the one that holds the host. A
// route that leads to a provider without the TLS that somebody asked for is closed. A cache
// that shows less may be behind.
func (r *Reconciler) reach(ctx context.Context, s *scope) error {
	way, leads := s.way(), s.input.Leads.Route != ""
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		entries, err := r.shared(ctx, reader, s, serviceEntries)
		if err != nil {
			return err
		}
		rules, err := r.shared(ctx, reader, s, destinationRules)
		if err != nil {
			return err
		}
		if s.reached = way.Carried(entries, rules); s.reached || !leads {
			break
		}
	}
	if s.reached || !leads || !way.Port.TLS {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Closing the route to a provider that would be spoken to without TLS", "HTTPRoute", s.ownName())
	s.input.Leads = opening.Leads{}
	s.build()
	return r.render(s)
}

// handedOnAll is for a model that goes: whatever it holds has to be taken over.
func (r *Reconciler) handedOnAll(ctx context.Context, s *scope) (bool, error) {
	if err := r.locate(ctx, s); err != nil {
		return false, err
	}
	if err := r.gather(ctx, s); err != nil {
		return false, err
	}
	for _, api := range sharedKinds() {
		held, err := r.holdings(ctx, s, api)
		if err != nil {
			return false, err
		}
		for _, live := range held {
			if ready, err := r.handedOn(ctx, s, external.HostOf(live)); err != nil || !ready {
				return false, err
			}
		}
	}
	return true, nil
}

// handedOn tells whether nobody depends any more on what this model holds of a host:
// there is nobody else, or the next one holds all of it.
func (r *Reconciler) handedOn(ctx context.Context, s *scope, host string) (bool, error) {
	others := s.others()
	heir, ok := external.Holder(host, others)
	if !ok || heir.Leaving {
		return true, nil
	}
	for _, port := range external.Ports(host, others) {
		way := external.Way{Host: host, Port: port, Gateway: s.input.Gateway.Namespace}
		if carried, err := r.carried(ctx, s, heir.Model, way); err != nil || !carried {
			return false, err
		}
	}
	return true, nil
}

// carried tells whether the objects that a model holds of a host lead all the way.
func (r *Reconciler) carried(ctx context.Context, s *scope, holder types.NamespacedName, way external.Way) (bool, error) {
	key := types.NamespacedName{Namespace: holder.Namespace, Name: external.SharedName(holder.Name, way.Host)}
	entry, err := r.live(ctx, s, serviceEntries, key)
	if err != nil || !way.EntryCarries(entry) {
		return false, err
	}
	if !way.Port.TLS {
		return true, nil
	}
	rule, err := r.live(ctx, s, destinationRules, key)
	return err == nil && way.RuleCarries(rule), err
}

// release removes what the model holds and is not wanted, once nobody depends on it.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	wanted := map[string]bool{}
	for _, object := range s.objects {
		wanted[object.GetKind()+" "+object.GetName()] = true
	}
	for _, api := range sharedKinds() {
		held, err := r.holdings(ctx, s, api)
		if err != nil {
			return err
		}
		for _, live := range held {
			if wanted[live.GetKind()+" "+live.GetName()] {
				continue
			}
			if free, err := r.free(ctx, s, external.HostOf(live)); err != nil {
				return err
			} else if !free {
				continue
			}
			if err := r.delete(ctx, s, live.GroupVersionKind(), live.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}

// free tells whether the model may remove what it holds of a host and is not wanted. A
// model whose spec is not valid keeps it while nobody else has the host.
func (r *Reconciler) free(ctx context.Context, s *scope, host string) (bool, error) {
	if s.output.ServiceEntry != nil && s.output.ServiceEntry.Host == host {
		return true, nil // What is wanted of it was written.
	}
	if _, others := external.Holder(host, s.others()); s.broken() && !others {
		return false, nil
	}
	ready, err := r.handedOn(ctx, s, host)
	if !ready {
		s.lookAgain(handOnAgain)
	}
	return ready, err
}
