// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fetch reads objects whose absence is an answer. It decides nothing.
package fetch

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Optional reads an object into the given one and returns it. Nil without an
// error means that it does not exist, or that its kind is not installed.
func Optional[T client.Object](ctx context.Context, reader client.Reader, key types.NamespacedName, object T) (T, error) {
	var none T
	err := reader.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %s %s: %w", KindOf(object), key, err)
	default:
		return object, nil
	}
}

// KindOf names the kind of an object for people. A typed object does not carry it, but
// schemes register Go types under their own names.
func KindOf(object client.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.Indirect(reflect.ValueOf(object)).Type().Name()
}
