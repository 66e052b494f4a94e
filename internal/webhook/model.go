// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// judgeModel refuses a new value of a model's tenantRef that names no AITenant.
// Whether the tenant is ready is for the model's status to say.
func (t Tenants) judgeModel(ctx context.Context, req admission.Request) error {
	name, err := newTenantRef(req)
	if err != nil || name == "" {
		return err
	}
	model := &v1alpha1.MaaSModelRef{}
	model.Namespace, model.Spec.TenantRef = req.Namespace, name
	err = t.settle(ctx, func(ctx context.Context, tenants lookup.Tenants) error {
		_, err := tenants.ForModel(ctx, model)
		if user, ok := apperr.AsUser(err); ok && user.Reason != string(v1alpha1.ReasonTenantNotFound) {
			return nil
		}
		return err
	})
	if err == nil {
		return nil
	}
	if _, ok := apperr.AsUser(err); ok {
		return &refusal{
			field: field.NewPath("spec", "tenantRef"), value: name,
			detail: fmt.Sprintf("AITenant %s does not exist in namespace %s: create it there, name another one, or leave spec.tenantRef out to have the tenant of the model's namespace",
				name, t.Live.Settings.AITenantNamespace),
		}
	}
	return fmt.Errorf("find AITenant %s: %w", name, err)
}

// newTenantRef returns the tenantRef that the request introduces, or "" when
// there is nothing to judge.
func newTenantRef(req admission.Request) (string, error) {
	if req.SubResource != "" || (req.Operation != admissionv1.Create && req.Operation != admissionv1.Update) {
		return "", nil
	}
	object, err := decode(req.Object.Raw)
	if err != nil {
		return "", fmt.Errorf("decode the object: %w", err)
	}
	name := tenantRef(object)
	if name == "" || object.GetDeletionTimestamp() != nil {
		return "", nil
	}
	if req.Operation == admissionv1.Create {
		return name, nil
	}
	old, err := decode(req.OldObject.Raw)
	if err != nil {
		return "", fmt.Errorf("decode the stored object: %w", err)
	}
	if tenantRef(old) == name {
		return "", nil
	}
	return name, nil
}

func tenantRef(object *unstructured.Unstructured) string {
	name, _, err := unstructured.NestedString(object.Object, "spec", "tenantRef")
	if err != nil {
		return "" // What is not a string names no tenant.
	}
	return name
}
