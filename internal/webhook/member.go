// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// judgeMember refuses to create a subscription or an auth policy where
// reconcilers would find that it counts for nobody.
func (t Tenants) judgeMember(ctx context.Context, req admission.Request) error {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return nil
	}
	err := t.settle(ctx, func(ctx context.Context, tenants lookup.Tenants) error {
		_, err := tenants.Enabled(ctx, req.Namespace)
		return err
	})
	if err == nil {
		return nil
	}
	if user, ok := apperr.AsUser(err); ok {
		return &refusal{
			field: field.NewPath("metadata", "namespace"), value: req.Namespace,
			detail: fmt.Sprintf("namespace %s is not enabled for MaaS tenant resources. %s", req.Namespace, user.Message),
		}
	}
	return fmt.Errorf("find the tenant of namespace %s: %w", req.Namespace, err)
}
