// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer puts finalizers on objects and takes them off. Ours sit only
// where owner references cannot clean up; whether one is due is decided by the
// reconcilers.
package finalizer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Add puts a finalizer on the object unless it has it.
func Add(ctx context.Context, c client.Client, object client.Object, name string) error {
	return change(ctx, c, object, name, controllerutil.AddFinalizer)
}

// Drop takes a finalizer off the object if it has it.
func Drop(ctx context.Context, c client.Client, object client.Object, name string) error {
	return change(ctx, c, object, name, controllerutil.RemoveFinalizer)
}

// change sends nothing but the finalizers, so that a stored object that would be
// refused today can still be taken in and let go. It fails with a conflict when the
// object has moved on, because the list is written as a whole. An object that is
// gone is no error. Of the answer the object gets its finalizers and its version;
// it stays as it was when the request fails.
func change(ctx context.Context, c client.Client, object client.Object, name string, apply func(client.Object, string) bool) error {
	after, ok := object.DeepCopyObject().(client.Object)
	if !ok || !apply(after, name) {
		return nil
	}
	patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, after, patch, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("change finalizer %s of %s: %w", name, client.ObjectKeyFromObject(object), err)
	}
	object.SetFinalizers(after.GetFinalizers())
	object.SetResourceVersion(after.GetResourceVersion())
	return nil
}
