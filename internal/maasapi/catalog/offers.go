// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Kinds that objects of earlier releases may have.
const (
	kindLegacy  v1alpha1.BackendKind = "llmisvc"
	kindMissing v1alpha1.BackendKind = ""
)

// candidate is a model that the caller is entitled to.
type candidate struct {
	key   types.NamespacedName
	model Model
	// ask is where the model is asked; nil for one that needs no asking.
	ask *url.URL
}

// offer is a candidate through one of the caller's subscriptions.
type offer struct {
	candidate    *candidate
	subscription *v1alpha1.MaaSSubscription
	verdict      verdict
}

// offers lists what the caller is entitled to by policy and subscription, among
// the models that can be used now, and how many more there are whose URL does not
// allow to ask them.
func offers(q Query, visible []entitlement.Visible, mode Mode) (found []offer, mute int) {
	known := map[types.NamespacedName]*candidate{}
	for i := range visible {
		subscription := visible[i].Subscription
		for _, m := range visible[i].Models {
			c, seen := known[m.Key]
			if !seen && m.Usable && servable(m.Object) {
				var asked bool
				if c, asked = newCandidate(q, subscription, m.Object, mode); !asked {
					mute++
				}
				known[m.Key] = c
			}
			if c != nil && m.Usable {
				found = append(found, offer{candidate: c, subscription: subscription})
			}
		}
	}
	return found, mute
}

// servable tells whether a model can be used and is of a kind that is known.
func servable(m *v1alpha1.MaaSModelRef) bool {
	if m == nil || m.DeletionTimestamp != nil || m.Status.Phase != v1alpha1.ModelPhaseReady {
		return false
	}
	switch m.Spec.ModelRef.Kind {
	case v1alpha1.BackendExternalModel, v1alpha1.BackendLLMInferenceService, kindLegacy, kindMissing:
		return true
	}
	return false
}

// newCandidate returns nil when clients cannot use the model as it is; asked is
// false when that is for want of a URL to ask.
func newCandidate(q Query, s *v1alpha1.MaaSSubscription, m *v1alpha1.MaaSModelRef, mode Mode) (c *candidate, asked bool) {
	id := idOf(q, s, m)
	if id == "" {
		return nil, true
	}
	endpoint, base := advertised(m.Status.Endpoint), advertised(m.Status.BaseURL)
	c = &candidate{key: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, model: Model{
		ID: id, Created: m.CreationTimestamp.Unix(), Object: objectModel, OwnedBy: m.Namespace + "/" + m.Name,
		Kind: string(cmp.Or(m.Spec.ModelRef.Kind, kindLegacy)), URL: text(endpoint), BaseURL: text(base), Ready: true, Details: detailsOf(m),
	}}
	if m.Spec.ModelRef.Kind == v1alpha1.BackendExternalModel {
		return c, true // The provider's credential is added behind the gateway: its answer says nothing about the caller.
	}
	if endpoint == nil {
		return nil, false
	}
	if mode == ModePolicy {
		return c, true
	}
	if c.ask = probeURL(endpoint); c.ask == nil {
		return nil, false
	}
	return c, true
}

func text(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// idOf is the name under which clients ask for the model: the first of its names
// that the selection takes for this model and no other. A name that several
// models have is one of the first by key only; the others show as
// <namespace>/<name>.
func idOf(q Query, s *v1alpha1.MaaSSubscription, m *v1alpha1.MaaSModelRef) string {
	own := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	names := [...]string{"", m.Status.ResolvedModelAlias, m.Name, own.String()}
	if m.Spec.ModelRef.Kind == v1alpha1.BackendExternalModel {
		names[0] = m.Spec.ModelRef.Name
	}
	through := s.Namespace + "/" + s.Name
	for _, name := range names {
		if name == "" {
			continue
		}
		selection, err := q.Index.Select(q.Caller, entitlement.Request{Model: name, Subscription: through})
		if err == nil && selection.Model == own && selection.AccessAllowed {
			return name
		}
	}
	return ""
}

// detailsOf returns nil when no annotation says anything. Capabilities that are
// no list of texts are ignored.
func detailsOf(m *v1alpha1.MaaSModelRef) *Details {
	var capabilities []string
	if json.Unmarshal([]byte(m.Annotations[v1alpha1.AnnotationModelCapabilities]), &capabilities) != nil {
		capabilities = nil
	}
	d := Details{
		UseCase:       m.Annotations[v1alpha1.AnnotationUseCase],
		Description:   m.Annotations[v1alpha1.AnnotationDescription],
		DisplayName:   m.Annotations[v1alpha1.AnnotationDisplayName],
		ContextWindow: m.Annotations[v1alpha1.AnnotationContextWindow],
	}
	if d.UseCase+d.Description+d.DisplayName+d.ContextWindow == "" && len(capabilities) == 0 {
		return nil
	}
	d.Capabilities = capabilities
	return &d
}

// merge makes the entries of the admitted offers: one for each model, with the
// subscriptions through which it was admitted.
func merge(found []offer) []Model {
	entries := map[*candidate]*Model{}
	for _, o := range found {
		if !o.verdict.admitted() {
			continue
		}
		entry := entries[o.candidate]
		if entry == nil {
			entry = new(o.candidate.model)
			entries[o.candidate] = entry
		}
		entry.Subscriptions = append(entry.Subscriptions, subscriptionOf(o.subscription))
	}
	models := make([]Model, 0, len(entries))
	for _, entry := range entries {
		slices.SortStableFunc(entry.Subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
		models = append(models, *entry)
	}
	slices.SortFunc(models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.URL, b.URL), cmp.Compare(a.OwnedBy, b.OwnedBy))
	})
	return models
}
