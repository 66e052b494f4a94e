// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Item is a subscription as its owners see it in a listing. No namespace is shown.
type Item struct {
	// Name is what X-MaaS-Subscription takes.
	Name           string            `json:"subscription_id_header"`
	Description    string            `json:"subscription_description"`
	DisplayName    string            `json:"display_name,omitempty"`
	Priority       int32             `json:"priority"`
	ModelRefs      []ModelRef        `json:"model_refs"`
	OrganizationID string            `json:"organization_id,omitempty"`
	CostCenter     string            `json:"cost_center,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
}

// ModelRef is a model of a subscription, with its limits.
type ModelRef struct {
	// Name is the MaaSModelRef's.
	Name string `json:"name"`
	// ModelName is what request bodies call the model.
	ModelName   string `json:"model_name,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Description string `json:"description,omitempty"`
	// Source is "internal" or "external"; empty for a backend of an unknown kind.
	Source string `json:"source,omitempty"`
	// Unlimited tells that there are no limits, which is not the same as not
	// showing any.
	Unlimited       bool         `json:"unlimited,omitempty"`
	TokenRateLimits []Limit      `json:"token_rate_limits,omitempty"`
	BillingRate     *BillingRate `json:"billing_rate,omitempty"`
}

// Limit is a number of tokens per window.
type Limit struct {
	Limit  int64  `json:"limit"`
	Window string `json:"window"`
}

// BillingRate is a price.
type BillingRate struct {
	PerToken string `json:"per_token"`
}

// Sources of models.
const (
	sourceInternal = "internal"
	sourceExternal = "external"
)

// List returns the subscriptions that a caller may see, each with the models that
// the caller may use, sorted by name. It is never nil. See
// [entitlement.Index.Visible] for requested and for errors.
func (s *Snapshot) List(c entitlement.Caller, requested string) ([]Item, error) {
	return s.list(c, requested, func(entitlement.Visible) bool { return true })
}

// ListOfModel is [Snapshot.List] of the subscriptions that show a MaaSModelRef of
// that name, in whatever namespace.
func (s *Snapshot) ListOfModel(c entitlement.Caller, requested, model string) ([]Item, error) {
	return s.list(c, requested, func(v entitlement.Visible) bool {
		return slices.ContainsFunc(v.Models, func(m entitlement.VisibleModel) bool { return m.Key.Name == model })
	})
}

func (s *Snapshot) list(c entitlement.Caller, requested string, wanted func(entitlement.Visible) bool) ([]Item, error) {
	visible, err := s.index.Visible(c, requested)
	if err != nil {
		return nil, err
	}
	out := make([]Item, 0, len(visible))
	for _, v := range visible {
		if wanted(v) {
			out = append(out, s.item(v))
		}
	}
	return out, nil
}

func (s *Snapshot) item(v entitlement.Visible) Item {
	sub := v.Subscription
	item := Item{
		Name: sub.Name, Description: sub.Annotations[v1alpha1.AnnotationDescription],
		DisplayName: sub.Annotations[v1alpha1.AnnotationDisplayName], Priority: max(sub.Spec.Priority, 0),
		ModelRefs: make([]ModelRef, 0, len(v.Models)),
	}
	for _, m := range v.Models {
		item.ModelRefs = append(item.ModelRefs, s.modelRef(m.Entry))
	}
	if m := sub.Spec.TokenMetadata; m != nil {
		item.OrganizationID, item.CostCenter, item.Labels = m.OrganizationID, m.CostCenter, m.Labels
	}
	return item
}

// modelRef describes an entry. A model that the tenant does not have, or no longer,
// has nothing but its name.
func (s *Snapshot) modelRef(entry *v1alpha1.ModelSubscription) ModelRef {
	ref := ModelRef{Name: entry.Name, Unlimited: entry.Unlimited}
	for _, rate := range entry.TokenRateLimits {
		ref.TokenRateLimits = append(ref.TokenRateLimits, Limit{Limit: rate.Limit, Window: rate.Window})
	}
	if entry.BillingRate != nil {
		ref.BillingRate = &BillingRate{PerToken: entry.BillingRate.PerToken}
	}
	if m := s.models[keyOf(entry)]; m != nil {
		ref.ModelName = m.Status.ResolvedModelAlias
		ref.DisplayName = m.Annotations[v1alpha1.AnnotationDisplayName]
		ref.Description = m.Annotations[v1alpha1.AnnotationDescription]
		ref.Source = sourceOf(m.Spec.ModelRef.Kind)
	}
	return ref
}

func sourceOf(kind v1alpha1.BackendKind) string {
	switch kind {
	case v1alpha1.BackendLLMInferenceService:
		return sourceInternal
	case v1alpha1.BackendExternalModel:
		return sourceExternal
	default:
		return ""
	}
}
