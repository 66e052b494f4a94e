// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// judgeAITenant refuses an AITenant in the wrong place, under a name that is taken
// by a shared object, or for a Gateway that another one asks for. Of a change only a
// new Gateway is judged, so that one that could not be created today can still be
// finalized, changed in everything else, and deleted.
func (t Tenants) judgeAITenant(ctx context.Context, req admission.Request) error {
	tenant, judged, err := newGateway(req, t.Live.Settings)
	if err != nil || !judged {
		return err
	}
	if req.Operation == admissionv1.Create {
		if err := placed(tenant, t.Live.Settings); err != nil {
			return err
		}
	}
	return t.gatewayFree(ctx, tenant)
}

// placed refuses a namespace and a name that no AITenant can have.
func placed(tenant *v1alpha1.AITenant, s tenancy.Settings) error {
	switch {
	case tenant.Namespace != s.AITenantNamespace:
		return &refusal{
			field: field.NewPath("metadata", "namespace"), value: tenant.Namespace,
			detail: fmt.Sprintf("AITenants are created in namespace %s only: create it there", s.AITenantNamespace),
		}
	case tenancy.Reserved(tenant.Name):
		return &refusal{
			field: field.NewPath("metadata", "name"), value: tenant.Name,
			detail: "an object of this tenant would have the name of a shared one: choose another name",
		}
	default:
		return nil
	}
}

// gatewayFree refuses a Gateway that another AITenant asks for, also one that is
// being deleted: it holds the Gateway until it is gone. Of two at once the claim of
// the Gateway decides later.
func (t Tenants) gatewayFree(ctx context.Context, tenant *v1alpha1.AITenant) error {
	s := t.Live.Settings
	var others v1alpha1.AITenantList
	if err := t.Live.Reader.List(ctx, &others, client.InNamespace(s.AITenantNamespace)); err != nil {
		return fmt.Errorf("list AITenants: %w", err)
	}
	gateway := s.GatewayOf(tenant)
	for i := range others.Items {
		other := &others.Items[i]
		if other.Name == tenant.Name || s.GatewayOf(other) != gateway {
			continue
		}
		return &refusal{
			field: field.NewPath("spec", "gateway", "name"), value: gateway.Name,
			detail: fmt.Sprintf("Gateway %s is already in use by AITenant %s, and each AITenant needs a Gateway of its own: name another Gateway, or create one", gateway, other.Name),
		}
	}
	return nil
}

// adviseAITenant says what will keep an AITenant that is admitted from working.
func (t Tenants) adviseAITenant(ctx context.Context, req admission.Request) []string {
	tenant, judged, err := newGateway(req, t.Live.Settings)
	if err != nil || !judged {
		return nil
	}
	gateway := t.Live.Settings.GatewayOf(tenant)
	found, err := fetch.Optional(ctx, t.Cached.Reader, gateway, &gwapiv1.Gateway{})
	if err != nil || found != nil {
		return nil // What could not be read is for the status to report.
	}
	return []string{fmt.Sprintf("Gateway %s does not exist yet: the tenant waits until a cluster administrator creates it", gateway)}
}

// newGateway returns the AITenant when the request asks for a Gateway that it did
// not ask for before.
func newGateway(req admission.Request, s tenancy.Settings) (tenant *v1alpha1.AITenant, judged bool, err error) {
	if req.SubResource != "" || (req.Operation != admissionv1.Create && req.Operation != admissionv1.Update) {
		return nil, false, nil
	}
	if tenant, err = decodeAITenant(req.Object.Raw); err != nil || tenant.DeletionTimestamp != nil {
		return nil, false, err
	}
	if req.Operation == admissionv1.Create {
		tenant.Namespace, tenant.Name = req.Namespace, nameOf(req)
		return tenant, true, nil
	}
	old, err := decodeAITenant(req.OldObject.Raw)
	if err != nil {
		return nil, false, err
	}
	return tenant, s.GatewayOf(old) != s.GatewayOf(tenant), nil
}

// decodeAITenant reads what is judged: its place and its Gateway.
func decodeAITenant(raw []byte) (*v1alpha1.AITenant, error) {
	object, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	tenant := &v1alpha1.AITenant{}
	judged := map[string]any{"metadata": object.Object["metadata"]}
	if spec, ok := object.Object["spec"].(map[string]any); ok {
		judged["spec"] = map[string]any{"gateway": spec["gateway"]}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(judged, tenant); err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	return tenant, nil
}
