// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// readCredential looks at the Secret with the provider's API key. It is read past the
// cache, and nothing of it outlives this function but how it was judged. That the
// operator may not read it says nothing about it.
func (r *Reconciler) readCredential(ctx context.Context, s *scope) error {
	s.lookAgain(credentialAgain)
	if s.facts.Secret == "" {
		return nil
	}
	key := types.NamespacedName{Namespace: s.model.Namespace, Name: s.facts.Secret}
	secret, err := fetch.Optional(ctx, r.APIReader, key, &corev1.Secret{})
	switch {
	case apierrors.IsForbidden(err):
		s.facts.Credential = external.CredentialUnread
		return nil
	case err != nil:
		return err
	case secret == nil:
		s.facts.Credential = external.CredentialAbsent
	default:
		s.facts.Credential = external.CredentialOf(secret.Labels, len(secret.Data[v1alpha1.CredentialSecretKey]) > 0)
	}
	if s.facts.Credential != external.CredentialUsable {
		s.lookAgain(missingAgain)
	}
	return nil
}

// readReplacement looks for the ExternalModel of the inference group.
func (r *Reconciler) readReplacement(ctx context.Context, s *scope) (err error) {
	s.facts.Replacement, err = r.replacement(ctx, s, s.key())
	return err
}

// replacement tells what takes the place of a model. A route that is on its way out
// serves nobody.
func (r *Reconciler) replacement(ctx context.Context, s *scope, key types.NamespacedName) (external.Replacement, error) {
	if !s.served[inferenceExternalModels.CRD] {
		return external.NotReplaced, nil
	}
	other, err := fetch.Optional(ctx, r.Client, key, &inferencev1alpha1.ExternalModel{})
	if err != nil || other == nil {
		return external.NotReplaced, err
	}
	if other.Status.HTTPRouteName == "" || !s.served[httpRoutes.CRD] {
		return external.BeingReplaced, nil
	}
	route, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: other.Status.HTTPRouteName}, empty(httpRoutes))
	if err != nil || route == nil || route.GetDeletionTimestamp() != nil {
		return external.BeingReplaced, err
	}
	return external.Replaced, nil
}

// judge reads how the provider is reached, and whether it may be.
func (r *Reconciler) judge(ctx context.Context, s *scope) error {
	if s.model.Spec == (v1alpha1.ExternalModelSpec{}) {
		s.facts.Invalid = apperr.Userf(v1alpha1.ReasonInvalidSpec, "The ExternalModel has no spec: set spec.provider, spec.targetModel, spec.endpoint and spec.credentialRef.")
		return nil
	}
	s.facts.Refused = r.hosts(ctx).Refuse(s.model.Spec.Endpoint)
	provider, err := external.ProviderOf(s.model)
	if _, user := apperr.AsUser(err); user {
		s.facts.Invalid = err
		return nil
	}
	s.input = external.Input{Model: s.key(), Target: s.model.Spec.TargetModel, Provider: provider}
	return err
}

// hosts are the hosts that may be led to in this cluster. What cannot be read is no
// namespace: the cache holds them all.
func (r *Reconciler) hosts(ctx context.Context) external.Hosts {
	return external.Hosts{ClusterDomain: r.ClusterDomain, IsNamespace: func(name string) bool {
		namespace, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: name}, &corev1.Namespace{})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Taking a name for no namespace", "namespace", name)
		}
		return namespace != nil
	}}
}

// wanted tells whether anything is to exist for the model.
func (s *scope) wanted() bool {
	return s.facts.Invalid == nil && s.facts.Refused == "" && s.facts.Replacement != external.Replaced
}

// compute decides what should exist, and renders it. Nothing is written unless all of it
// renders.
func (r *Reconciler) compute(ctx context.Context, s *scope) error {
	if !s.wanted() {
		return nil
	}
	tenant, err := r.Tenants.ForNamespace(ctx, r.Tenants.Settings.DefaultNamespace)
	if _, user := apperr.AsUser(err); user {
		s.facts.Homeless = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the default tenant's Gateway: %w", err)
	}
	s.input.Gateway, s.input.Claims = tenant.Gateway, s.claims
	if s.input.Leads, err = r.kept(ctx, s); err != nil {
		return err
	}
	s.build()
	return r.render(s)
}

// build decides what should exist, by what is known by now.
func (s *scope) build() {
	s.output = external.Build(s.input)
	s.facts.Conflict = s.output.Addressee != s.key()
	s.facts.Secured = !s.input.Provider.TLS && external.Secure(s.input.Provider, s.claims)
}

func (r *Reconciler) render(s *scope) error {
	objects, err := r.Engine.RenderAll(s.output.Requests())
	if err != nil {
		return apperr.Userf(v1alpha1.ReasonRenderFailed, "The objects could not be rendered: %v. The last good ones stay in place.", err)
	}
	for _, object := range objects {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindExternalModel, Name: s.model.Name, UID: s.model.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}})
	}
	s.objects = objects
	return nil
}

// write brings in place what is wanted, the route last. What the cluster has no kind for
// is left out.
func (r *Reconciler) write(ctx context.Context, s *scope) error {
	for _, object := range s.objects {
		api, optional := apiOf(object)
		if optional && (!s.served[api.CRD] || s.held && api.CRD != httpRoutes.CRD) {
			continue
		}
		if err := r.apply(ctx, s, object); err != nil {
			return err
		}
	}
	return nil
}

// apiOf is the kind of an object, if it is one that may be missing.
func apiOf(object *unstructured.Unstructured) (facts.API, bool) {
	for _, api := range needed() {
		if api.GroupKind == object.GroupVersionKind().GroupKind() {
			return api, true
		}
	}
	return facts.API{}, false
}

// apply brings one object in place. What somebody opted out of management stays as it
// is, and the status says so.
func (r *Reconciler) apply(ctx context.Context, s *scope, object *unstructured.Unstructured) error {
	var opts apply.CallOptions
	route := object.GetKind() == httpRoutes.GroupKind.Kind
	if route {
		// What leads somewhere was judged as this object, with these rules.
		opts.UID, opts.Generation = s.input.Leads.Route, s.input.Leads.Generation
	}
	result, err := r.Applier.ApplyWith(ctx, object, opts)
	if route && err == nil {
		s.route, s.handsOff = result.Live, result.Outcome == apply.OptedOut
	}
	if err != nil {
		return err
	}
	if result.Outcome == apply.OptedOut {
		s.facts.OptedOut = append(s.facts.OptedOut, object.GetKind()+" "+object.GetName())
	}
	if result.Repaired {
		ctrl.LoggerFrom(ctx).Info("Repairing a generated object that somebody changed or deleted", "objectKind", object.GetKind(), "object", object.GetName())
		r.Events.Eventf(s.model, object, corev1.EventTypeWarning, string(v1alpha1.EventDriftRepaired), string(v1alpha1.ActionReconcile),
			"Somebody changed or deleted %s, and it was put back. Annotate it %s=false to manage it by hand.", nameOf(object), v1alpha1.AnnotationManaged)
	}
	return nil
}
