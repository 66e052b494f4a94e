// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// TestReplicasOfAnAnnotation has row E-128.
func TestReplicasOfAnAnnotation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		annotation *string
		want       int32
		wantWarned bool
	}{
		"no annotation":      {nil, 1, false},
		"three":              {new("3"), 3, false},
		"the most":           {new("100"), 100, false},
		"one too many":       {new("101"), 1, true},
		"none":               {new("0"), 1, true},
		"fewer than none":    {new("-1"), 1, true},
		"no number":          {new("abc"), 1, true},
		"a broken number":    {new("1.5"), 1, true},
		"nothing":            {new(""), 1, true},
		"more than 64 bits":  {new("99999999999999999999"), 1, true},
		"white space inside": {new(" 3"), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tenant.OpenShift, tenancy.DefaultName)
			if tc.annotation != nil {
				in.Config.Annotations = map[string]string{v1alpha1.AnnotationMaasAPIReplicas: *tc.annotation}
			}
			if got := object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Replicas; got == nil || *got != tc.want {
				t.Errorf("replicas = %v, want %d", got, tc.want)
			}
			warnings := build(t, in).Warnings
			if tc.wantWarned != (len(warnings) == 1) {
				t.Fatalf("warnings = %v", warnings)
			}
			if tc.wantWarned && (warnings[0].Reason != v1alpha1.ReasonInvalidReplicaAnnotation || !strings.Contains(warnings[0].Message, v1alpha1.AnnotationMaasAPIReplicas)) {
				t.Errorf("warning = %v", warnings[0])
			}
		})
	}
}

// TestLifeOfKeys has row E-127.
func TestLifeOfKeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec               *v1alpha1.TenantAPIKeysConfig
		wantMax, wantAfter string
	}{
		"nothing said":           {nil, "90", "90"},
		"nothing about either":   {&v1alpha1.TenantAPIKeysConfig{}, "90", "90"},
		"a longest life":         {&v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30))}, "30", "90"},
		"a retention":            {&v1alpha1.TenantAPIKeysConfig{DeletionRetentionDays: new(int32(7))}, "90", "7"},
		"stored values below 1":  {&v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(0)), DeletionRetentionDays: new(int32(-1))}, "90", "90"},
		"the smallest of either": {&v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(1)), DeletionRetentionDays: new(int32(1))}, "1", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tenant.Kubernetes, "red-team")
			in.Config.Spec.APIKeys = tc.spec
			env := environment(object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Template.Spec.Containers[0])
			if env["API_KEY_MAX_EXPIRATION_DAYS"] != tc.wantMax || env["API_KEY_DELETION_RETENTION_DAYS"] != tc.wantAfter {
				t.Errorf("env = %v, want %s and %s", env, tc.wantMax, tc.wantAfter)
			}
		})
	}
}

// TestOptionalKinds has weakness W-37: a kind that is not served costs its object
// and nothing else.
func TestOptionalKinds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		platform         string
		served           []string
		wantCert, wantDR bool
		wantWarned       []string
	}{
		"Kubernetes with everything":   {tenant.Kubernetes, []string{tenant.CertificateCRD, tenant.DestinationRuleCRD}, true, true, nil},
		"Kubernetes, no cert-manager":  {tenant.Kubernetes, []string{tenant.DestinationRuleCRD}, false, true, []string{tenant.CertificateCRD}},
		"Kubernetes with neither":      {tenant.Kubernetes, nil, false, false, []string{tenant.CertificateCRD, tenant.DestinationRuleCRD}},
		"OpenShift with Istio":         {tenant.OpenShift, []string{tenant.DestinationRuleCRD}, false, true, nil},
		"OpenShift with cert-manager":  {tenant.OpenShift, []string{tenant.CertificateCRD, tenant.DestinationRuleCRD}, false, true, nil},
		"OpenShift with another mesh":  {tenant.OpenShift, nil, false, false, []string{tenant.DestinationRuleCRD}},
		"Kubernetes with another mesh": {tenant.Kubernetes, []string{tenant.CertificateCRD}, true, false, []string{tenant.DestinationRuleCRD}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tc.platform, "red-team")
			in.Served = map[string]bool{}
			for _, crd := range tc.served {
				in.Served[crd] = true
			}
			out := build(t, in)
			if got := wanted(out, tenant.CertificateTemplate); got != tc.wantCert {
				t.Errorf("Certificate wanted: %v, want %v", got, tc.wantCert)
			}
			if got := wanted(out, tenant.BackendTLSTemplate); got != tc.wantDR {
				t.Errorf("DestinationRule wanted: %v, want %v", got, tc.wantDR)
			}
			if len(out.Warnings) != len(tc.wantWarned) {
				t.Fatalf("warnings = %v, want them about %v", out.Warnings, tc.wantWarned)
			}
			for i, crd := range tc.wantWarned {
				if w := out.Warnings[i]; w.Reason != v1alpha1.ReasonPrerequisitesWarning || !strings.Contains(w.Message, crd) {
					t.Errorf("warning %v, want one about %s", w, crd)
				}
			}
			if !wanted(out, tenant.DeploymentTemplate) || !wanted(out, tenant.RouteTemplate) {
				t.Error("the rest of the tenant is not wanted")
			}
		})
	}
}

func TestWithoutItsGatewayATenantHasNothingInTheGatewaysNamespace(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		in := input(platform, "red-team")
		in.GatewayExists = false
		out := build(t, in)
		if len(out.Guard) > 0 {
			t.Errorf("%s: guard = %v", platform, out.Guard)
		}
		for _, r := range out.Workload {
			if r.Namespace == in.Tenant.Gateway.Namespace {
				t.Errorf("%s: %s %s/%s is wanted", platform, r.ID, r.Namespace, r.Name)
			}
		}
		if !wanted(out, access.MaaSAPIPolicyTemplate) || !wanted(out, tenant.RouteTemplate) {
			t.Errorf("%s: the HTTPRoute or its policy is not wanted", platform)
		}
	}
}

func TestTheGuardIsWantedWithTheGateway(t *testing.T) {
	t.Parallel()
	out := build(t, input(tenant.OpenShift, tenancy.DefaultName))
	var ids []render.ID
	for _, r := range out.Guard {
		ids = append(ids, r.ID)
		if r.Namespace != "openshift-ingress" {
			t.Errorf("%s is in namespace %s", r.ID, r.Namespace)
		}
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]render.ID{access.GatewayAuthTemplate, access.GatewayDenyTemplate}, ids); diff != "" {
		t.Errorf("guard (-want +got):\n%s", diff)
	}
}

func TestAProviderThatCannotBeUsedLeavesTheGuard(t *testing.T) {
	t.Parallel()
	in := input(tenant.OpenShift, "red-team")
	in.Tenant.OIDCProblem = apperr.User(v1alpha1.ReasonInvalidOIDC, "AITenant ai-tenants/red-team: spec.oidc.ttl is below 30 seconds: correct it, or remove the provider.")
	out, err := tenant.Build(in)
	if user, ok := apperr.AsUser(err); !ok || user.Reason != string(v1alpha1.ReasonInvalidOIDC) {
		t.Errorf("Build() error = %v, want the problem of the provider", err)
	}
	if len(out.Guard) != 2 || len(out.Workload) > 0 {
		t.Errorf("guard %d, workload %d objects, want 2 and none", len(out.Guard), len(out.Workload))
	}
	if errors.Unwrap(err) == nil {
		t.Error("the error does not say whose policy it is about")
	}
}

func TestAnIssuerOfOnesOwn(t *testing.T) {
	t.Parallel()
	type issuer struct{ Kind, Name, Group string }
	for name, tc := range map[string]struct {
		chosen tenant.CertIssuer
		want   issuer
	}{
		"the default":       {tenant.CertIssuer{}, issuer{"ClusterIssuer", "rhai-ca-issuer", "cert-manager.io"}},
		"another name":      {tenant.CertIssuer{Name: "own"}, issuer{"ClusterIssuer", "own", "cert-manager.io"}},
		"of the namespace":  {tenant.CertIssuer{Kind: "Issuer", Name: "own"}, issuer{"Issuer", "own", "cert-manager.io"}},
		"the default there": {tenant.CertIssuer{Kind: "Issuer"}, issuer{"Issuer", "rhai-ca-issuer", "cert-manager.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tenant.Kubernetes, tenancy.DefaultName)
			in.Settings.CertIssuer = tc.chosen
			if diff := cmp.Diff(tc.want, issuer(object[certificate](t, in, tenant.CertificateTemplate).Spec.IssuerRef)); diff != "" {
				t.Errorf("issuer (-want +got):\n%s", diff)
			}
		})
	}
}
