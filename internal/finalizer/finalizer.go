// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer removes finalizers that earlier releases left behind. Ours
// sit only where owner references cannot clean up; see the reconcilers that
// add them.
package finalizer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Drop removes one finalizer when the object has it. Nothing but the
// finalizers is sent, so that a stored object that would be refused today can
// still be let go.
func Drop(ctx context.Context, c client.Client, object client.Object, name string) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(object, name) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, object, patch); err != nil {
		return fmt.Errorf("remove finalizer %s from %s: %w", name, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
