// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// objectModel is the "object" of every entry, as in OpenAI's API.
const objectModel = "model"

// Model is an entry of the list, in its documented JSON form.
type Model struct {
	// ID is what clients write in the "model" field of a request.
	ID string `json:"id"`
	// Created is the creation of the MaaSModelRef, in Unix seconds.
	Created int64 `json:"created"`
	// Object is always "model".
	Object string `json:"object"`
	// OwnedBy is <namespace>/<name> of the MaaSModelRef.
	OwnedBy string `json:"owned_by"`
	// Kind is that of the backend.
	Kind string `json:"kind,omitempty"`
	// URL reaches this model and no other: clients append /v1/chat/completions and
	// the like. It is https; without such a URL the field is absent.
	URL string `json:"url,omitempty"`
	// BaseURL is shared by models that the gateway tells apart by the "model" field
	// of the body. It is absent where the gateway does not do that.
	BaseURL string `json:"baseUrl,omitempty"`
	// Ready is always true: other models are not listed.
	Ready bool `json:"ready"`
	// Details is nil when nothing is known.
	Details *Details `json:"modelDetails,omitempty"`
	// Subscriptions are those of the caller that include the model, by name.
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
}

// Details is what the annotations of a MaaSModelRef say for people.
type Details struct {
	UseCase       string   `json:"genaiUseCase,omitempty"`
	Description   string   `json:"description,omitempty"`
	DisplayName   string   `json:"displayName,omitempty"`
	ContextWindow string   `json:"contextWindow,omitempty"`
	Capabilities  []string `json:"modelCapabilities,omitempty"`
}

// Subscription is one through which a model may be used.
type Subscription struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
}

// Check says how far access to the listed models was checked.
type Check string

// How access was checked.
const (
	// CheckComplete: every model was asked, or needed no asking.
	CheckComplete Check = "complete"
	// CheckIncomplete: models are left out because they could not be asked: the
	// gateway is not known or does not answer, or the time was up.
	CheckIncomplete Check = "incomplete"
	// CheckPolicy: nothing was asked, because probing is switched off. The list is
	// what policies and subscriptions allow.
	CheckPolicy Check = "policy"
)

// Listing is the answer to one caller.
type Listing struct {
	// Models are sorted by id, URL and owner; never nil.
	Models []Model
	// CheckedAt is when the oldest verdict was found that the list was made from,
	// those that left a model out included.
	CheckedAt time.Time
	Check     Check
}

// Details of a subscription for people.
func subscriptionOf(s *v1alpha1.MaaSSubscription) Subscription {
	return Subscription{
		Name:        s.Name,
		DisplayName: s.Annotations[v1alpha1.AnnotationDisplayName],
		Description: s.Annotations[v1alpha1.AnnotationDescription],
	}
}
