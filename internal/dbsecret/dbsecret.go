// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dbsecret copies the Secret with the database's address, once, from where
// earlier releases expected it to where maas-api runs now. It never changes a Secret
// that exists, and nothing else in the cluster.
package dbsecret

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// Server-side apply is what lets the right to create be held for this one name.
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=maas-db-config,verbs=get;create;patch

// createOnly is a resourceVersion that no stored object has: the server ignores it
// when it creates, and refuses with a conflict when there is something to merge into.
const createOnly = "1"

// ErrNoAddress reports a Secret without the address of a database.
var ErrNoAddress = errors.New("key " + v1alpha1.DatabaseSecretKey + " is missing or empty: set it to the URL of the database, or delete the Secret")

// Options say where to copy the Secret from and to.
type Options struct {
	// Client writes, and Reader reads past the cache: Secrets are never in it.
	Client client.Client
	Reader client.Reader
	// From is the controller's namespace, To that of maas-api.
	From, To string
}

// Copy makes the Secret in namespace To when it exists only in namespace From. A host
// without a domain is given the one it had. Who may not read or write these Secrets
// must make the copy himself; that is logged and no error. No part of an address is
// ever logged: a password may stand anywhere in one.
func Copy(ctx context.Context, o Options) error {
	if o.From == "" || o.To == "" || o.From == o.To {
		return nil
	}
	err := o.copy(ctx)
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Info("Leaving it to the administrator to copy the Secret with the database's address",
			"from", o.From, "to", o.To, "Secret", v1alpha1.DatabaseSecretName, "cause", err.Error())
		return nil
	}
	return err
}

func (o Options) copy(ctx context.Context) error {
	target, err := o.read(ctx, o.To)
	if err != nil || target != nil {
		return err
	}
	source, err := o.read(ctx, o.From)
	if err != nil || source == nil {
		return err
	}
	address := string(source.Data[v1alpha1.DatabaseSecretKey])
	if address == "" {
		return fmt.Errorf("copy Secret %s/%s to namespace %s: %w", o.From, v1alpha1.DatabaseSecretName, o.To, ErrNoAddress)
	}
	qualified := qualify(address, o.From)
	if err := o.create(ctx, qualified); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Copied the Secret with the database's address", "from", o.From, "to", o.To, "hostQualified", qualified != address)
	return nil
}

func (o Options) read(ctx context.Context, namespace string) (*corev1.Secret, error) {
	return fetch.Optional(ctx, o.Reader, types.NamespacedName{Namespace: namespace, Name: v1alpha1.DatabaseSecretName}, &corev1.Secret{})
}

// create makes the copy, unless somebody else did meanwhile.
func (o Options) create(ctx context.Context, address string) error {
	secret := corev1ac.Secret(v1alpha1.DatabaseSecretName, o.To).
		WithResourceVersion(createOnly).
		WithLabels(map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
			v1alpha1.LabelPartOf:    v1alpha1.ControllerDeploymentName,
		}).
		WithAnnotations(map[string]string{v1alpha1.AnnotationMigratedFrom: o.From}).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{v1alpha1.DatabaseSecretKey: []byte(address)})
	err := o.Client.Apply(ctx, secret, client.FieldOwner(v1alpha1.FieldOwner))
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create Secret %s/%s: %w", o.To, v1alpha1.DatabaseSecretName, err)
	}
	return nil
}
