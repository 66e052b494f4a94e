// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

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
		s.facts.Credential = external.CredentialOf(secret.Labels, len(secret.Data[v1alpha1.CredentialSecretKey]) > 0 || s.acts && s.translation.AnyKey && len(secret.Data) > 0)
	}
	if s.facts.Credential != external.CredentialUsable {
		s.lookAgain(missingAgain)
	}
	return nil
}

// judge reads how the provider is reached, and whether it may be. A host is refused also
// where the rest of the spec is not valid.
func (r *Reconciler) judge(ctx context.Context, s *scope) error {
	if s.untranslated != nil && s.acts {
		s.facts.Invalid = s.untranslated
		if s.model.Spec.Endpoint == "" {
			return nil // What names the host is missing.
		}
		var err error
		s.facts.Refused, err = r.refused(ctx, s.model)
		return err
	}
	if s.model.Spec == (v1alpha1.ExternalModelSpec{}) {
		s.facts.Invalid = apperr.Userf(v1alpha1.ReasonInvalidSpec, "The ExternalModel has no spec: set spec.provider, spec.targetModel, spec.endpoint and spec.credentialRef.")
		return nil
	}
	var err error
	if s.facts.Refused, err = r.refused(ctx, s.model); err != nil {
		return err
	}
	provider, err := external.ProviderOf(s.model)
	if _, user := apperr.AsUser(err); user {
		s.facts.Invalid = err
		return nil
	}
	s.input = external.Input{Model: s.key(), Target: s.model.Spec.TargetModel, Provider: provider}
	return err
}

// refused says why a model's host must not be led to; empty when it may. A namespace that
// cannot be read is not one that does not exist. Where it cannot be told whether TLS is
// asked for, it counts as asked for: nothing is made without it then.
func (r *Reconciler) refused(ctx context.Context, model *v1alpha1.ExternalModel) (string, error) {
	var unread error
	hosts := external.Hosts{ClusterDomain: r.ClusterDomain, IsNamespace: func(name string) bool {
		namespace, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: name}, &corev1.Namespace{})
		unread = errors.Join(unread, err)
		return namespace != nil
	}}
	provider, err := external.ProviderOf(model)
	refused := hosts.Refuse(model.Spec.Endpoint, err != nil || provider.TLS)
	return refused, unread
}

// wanted tells whether anything is to exist for the model.
func (s *scope) wanted() bool {
	return s.facts.Invalid == nil && s.facts.Refused == "" && s.facts.Replacement != external.Replaced
}

// locate finds the default tenant's Gateway.
func (r *Reconciler) locate(ctx context.Context, s *scope) error {
	tenant, err := r.Tenants.ForNamespace(ctx, r.Tenants.Settings.DefaultNamespace)
	if _, user := apperr.AsUser(err); user {
		s.facts.Homeless = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the default tenant's Gateway: %w", err)
	}
	s.input.Gateway = tenant.Gateway
	return nil
}

// compute decides what should exist, and renders it. Nothing is written unless all of it
// renders.
func (r *Reconciler) compute(ctx context.Context, s *scope) error {
	if !s.wanted() || s.facts.Homeless != nil {
		return nil //nolint:nilerr // The problem is a fact of the status.
	}
	var err error
	if s.input.Leads, err = r.kept(ctx, s); err != nil {
		return err
	}
	if s.input.Claims, err = r.ranked(ctx, s); err != nil {
		return err
	}
	s.build()
	return r.render(s)
}

// build decides what should exist, by what is known by now.
func (s *scope) build() {
	s.output = external.Build(s.input)
	s.facts.Nameless = !external.Addressable(s.input.Target)
	if s.facts.Rival = s.output.Addressee; s.facts.Rival == s.key() {
		s.facts.Rival = types.NamespacedName{}
	}
	s.facts.Secured = !s.input.Provider.TLS && external.Secure(s.input.Provider, s.claims)
}

func (r *Reconciler) render(s *scope) error {
	objects, err := r.Engine.RenderAll(s.output.Requests())
	if err != nil {
		return apperr.Userf(v1alpha1.ReasonRenderFailed, "The objects could not be rendered: %v. The last good ones stay in place.", err)
	}
	for _, object := range objects {
		object.SetOwnerReferences([]metav1.OwnerReference{s.owner()})
	}
	s.objects = objects
	return nil
}

// write brings in place what is wanted, the route last. What the cluster has no kind for
// is left out.
func (r *Reconciler) write(ctx context.Context, s *scope) error {
	for _, object := range s.objects {
		api, optional := apiOf(object)
		if optional && !s.served[api.CRD] {
			continue
		}
		if api.CRD == httpRoutes.CRD {
			if err := r.reach(ctx, s); err != nil {
				return err
			}
			object = s.objects[len(s.objects)-1]
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
		r.Events.Eventf(s.object, object, corev1.EventTypeWarning, string(v1alpha1.EventDriftRepaired), string(v1alpha1.ActionReconcile),
			"Somebody changed or deleted %s, and it was put back. Annotate it %s=false to manage it by hand.", nameOf(object), v1alpha1.AnnotationManaged)
	}
	return nil
}
