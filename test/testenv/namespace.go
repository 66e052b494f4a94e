// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewNamespace creates a namespace that nobody else uses and returns its name,
// which begins with the prefix.
func NewNamespace(ctx context.Context, c client.Client, prefix string) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	if err := c.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("create namespace: %w", err)
	}
	return namespace.Name, nil
}
