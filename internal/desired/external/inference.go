// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

// Translation is an ExternalModel of the inference group in the form of this operator's
// own group. What the own form has no field for, the path at the provider, its
// placeholders and the format of requests, is for payload processing alone.
type Translation struct {
	// Model is the translated model. It has the metadata also when the rest cannot be
	// told.
	Model *v1alpha1.ExternalModel
	// Fields are where the model's author finds what messages are about.
	Fields Fields
	// AnyKey tells that the credential is not an API key: its Secret may have other keys.
	AnyKey bool
	// Note says what of the model has no effect, or is empty.
	Note string
}

// Binding is the provider that requests go to: the first one that is not switched off by
// a weight of 0. It returns false when there is none.
func Binding(model *inferencev1alpha1.ExternalModel) (inferencev1alpha1.ExternalProviderBinding, bool) {
	for _, b := range model.Spec.ExternalProviderRefs {
		if weighs(b) {
			return b, true
		}
	}
	return inferencev1alpha1.ExternalProviderBinding{}, false
}

func weighs(b inferencev1alpha1.ExternalProviderBinding) bool {
	return b.Weight == nil || *b.Weight > 0
}

// Translate says how a model of the inference group is reached. The function finds the
// ExternalProviders of the model's namespace, nil for none. The error is an
// [apperr.UserError].
//
// The header that payload processing names a model in has the name that clients use. In
// the own form that is spec.targetModel, here it is spec.modelName.
func Translate(model *inferencev1alpha1.ExternalModel, provider func(name string) *inferencev1alpha1.ExternalProvider) (Translation, error) {
	t := Translation{
		Model: &v1alpha1.ExternalModel{ObjectMeta: metadataOf(model)},
		Fields: Fields{ //nolint:gosec // They name fields.
			Host: "spec.endpoint of the ExternalProvider", Target: "spec.modelName",
			Credential: "the auth of the ExternalModel or of its ExternalProvider",
		},
	}
	binding, ok := Binding(model)
	if !ok {
		return t, apperr.Userf(v1alpha1.ReasonInvalidSpec,
			"spec.externalProviderRefs names no provider with a weight above 0: name one, or raise a weight.")
	}
	t.Fields.Host = "spec.endpoint of ExternalProvider " + binding.Ref.Name
	at := provider(binding.Ref.Name)
	if at == nil {
		return t, apperr.Userf(v1alpha1.ReasonProviderNotFound,
			"ExternalProvider %s, which spec.externalProviderRefs names, does not exist in the namespace of the ExternalModel: create it.", binding.Ref.Name)
	}
	if at.Spec.Endpoint == "" {
		return t, apperr.Userf(v1alpha1.ReasonInvalidSpec, "ExternalProvider %s has no spec.endpoint: name the provider's host there.", at.Name)
	}
	auth := at.Spec.Auth
	if binding.Auth != nil {
		auth = *binding.Auth
	}
	t.AnyKey = auth.Type == inferencev1alpha1.AuthTypeSigV4 || auth.Type == inferencev1alpha1.AuthTypeOAuth2
	t.Model.Spec = v1alpha1.ExternalModelSpec{
		Provider: at.Spec.Provider, Endpoint: at.Spec.Endpoint,
		TargetModel:   cmp.Or(model.Spec.ModelName, model.Name),
		CredentialRef: v1alpha1.CredentialReference{Name: auth.SecretRef.Name},
	}
	t.Note = unused(model, at.Name)
	if _, err := ProviderOf(t.Model); err != nil { // There are no fields to set instead.
		return t, apperr.Userf(v1alpha1.ReasonInvalidSpec, "The annotations %s and %s of the ExternalModel are a number from 1 to %d, and true or false: correct or remove them.",
			v1alpha1.AnnotationPort, v1alpha1.AnnotationTLS, maxPort)
	}
	return t, nil
}

// metadataOf is what the own form takes of a model's metadata.
func metadataOf(model *inferencev1alpha1.ExternalModel) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Namespace: model.Namespace, Name: model.Name, UID: model.UID, Generation: model.Generation,
		CreationTimestamp: model.CreationTimestamp, DeletionTimestamp: model.DeletionTimestamp,
	}
	for _, name := range []string{v1alpha1.AnnotationPort, v1alpha1.AnnotationTLS} {
		if value, ok := model.Annotations[name]; ok {
			metav1.SetMetaDataAnnotation(&meta, name, value)
		}
	}
	return meta
}

// unused says that a provider gets all requests although others are to have a share.
func unused(model *inferencev1alpha1.ExternalModel, used string) string {
	others := -1
	for _, b := range model.Spec.ExternalProviderRefs {
		if weighs(b) {
			others++
		}
	}
	if others <= 0 {
		return ""
	}
	return fmt.Sprintf("All requests go to ExternalProvider %s, the first of spec.externalProviderRefs with a weight above 0: the gateway does not divide them among providers.", used)
}

// Standing is what decides which of the two ExternalModels of one name counts.
type Standing struct {
	// Exists tells that there is such an object, Leaving that it is being deleted.
	Exists, Leaving bool
}

// InferenceActs tells whether the ExternalModel of the inference group counts, and not
// that of the own group. It does where it exists. While what it says cannot be brought
// about, able is false, the own one serves on; unless the other is served already.
func InferenceActs(own, theirs Standing, able, served bool) bool {
	switch {
	case !own.Exists || !theirs.Exists:
		return theirs.Exists
	case own.Leaving != theirs.Leaving:
		return own.Leaving
	default:
		return able || served
	}
}
