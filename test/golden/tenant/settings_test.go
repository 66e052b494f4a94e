// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/test/golden"
)

// TestMaaSAPIReadsItsVariables: maas-api knows every variable it is given, has
// nothing to warn of, and takes from them what the case says.
func TestMaaSAPIReadsItsVariables(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, got := load(t, name), build(t, name)
			served := read(t, container(t, got.tenant, "Deployment", func(d appsv1.Deployment) corev1.PodTemplateSpec { return d.Spec.Template }), nil)
			want := config.General{
				Namespace: in.Settings.InfraNamespace, TenantName: in.Tenant.Name, TenantUID: string(in.TenantUID), SubscriptionNamespace: in.Config.Namespace,
			}
			general := config.General{
				Namespace: served.Namespace, TenantName: served.TenantName, TenantUID: served.TenantUID, SubscriptionNamespace: served.SubscriptionNamespace,
			}
			if diff := cmp.Diff(want, general); diff != "" {
				t.Errorf("serves (-want +got):\n%s", diff)
			}
			if served.GatewayName != in.Tenant.Gateway.Name || served.GatewayNamespace != in.Tenant.Gateway.Namespace {
				t.Errorf("Gateway %s/%s, want %s", served.GatewayNamespace, served.GatewayName, in.Tenant.Gateway)
			}
			if !served.Secure || served.CertFile == "" || served.KeyFile == "" {
				t.Errorf("TLS is %+v", served.TLS)
			}
			longest, retention := days(in)
			if served.MaxExpirationDays != longest || served.RetentionDays != retention {
				t.Errorf("keys: %+v, want %d and %d days", served.Keys, longest, retention)
			}
			if len(got.aiTenant) == 0 {
				return
			}
			groups := []config.Group{config.GroupGeneral, config.GroupDatabase, config.GroupKeys}
			job := read(t, container(t, got.aiTenant, "Job", func(j batchv1.Job) corev1.PodTemplateSpec { return j.Spec.Template }), groups)
			if job.DatabaseURLFile == "" || job.RetentionDays != retention {
				t.Errorf("revocation: database %q, %d days; it has no token to ask the API server for the database", job.DatabaseURLFile, job.RetentionDays)
			}
		})
	}
}

// days are the longest life of keys that a case asks for, and the time they are kept
// after their tenant.
func days(in input) (longest, retention int) {
	if keys := in.Config.Spec.APIKeys; keys != nil {
		return int(*keys.MaxExpirationDays), int(*keys.DeletionRetentionDays)
	}
	return 90, 90
}

func container[T any](t *testing.T, objects []*unstructured.Unstructured, kind string, template func(T) corev1.PodTemplateSpec) corev1.Container {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
			t.Fatalf("decode %s: %v", kind, err)
		}
		c := template(typed).Spec.Containers[0]
		for i := range c.Env {
			if from := c.Env[i].ValueFrom; from != nil && from.FieldRef.FieldPath == "metadata.namespace" {
				c.Env[i].Value = o.GetNamespace()
			}
		}
		return c
	}
	t.Fatalf("there is no %s", kind)
	return corev1.Container{}
}

// read reads a container's variables as maas-api does. The variable of the standard
// library is none of its settings.
func read(t *testing.T, c corev1.Container, groups []config.Group) config.Config {
	t.Helper()
	known := map[string]bool{"SSL_CERT_DIR": true}
	for _, s := range config.Settings() {
		known[s.Env] = true
	}
	env := map[string]string{}
	for _, e := range c.Env {
		if !known[e.Name] {
			t.Errorf("maas-api knows no %s", e.Name)
		}
		env[e.Name] = e.Value
	}
	result, err := config.Load(config.Input{Groups: groups, Environment: env})
	if err != nil {
		t.Fatalf("maas-api would not start: %v", err)
	}
	for _, warning := range result.Warnings {
		t.Errorf("maas-api would warn: %s", warning)
	}
	return result.Config
}
