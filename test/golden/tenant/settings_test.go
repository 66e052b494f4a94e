// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"testing"

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
			served := read(t, "SSL_CERT_DIR", container[appsv1.Deployment](t, got.tenant, "Deployment", func(d appsv1.Deployment) corev1.PodTemplateSpec { return d.Spec.Template }), nil)
			if served.Namespace != in.Settings.InfraNamespace || served.TenantName != in.Tenant.Name || served.TenantUID != string(in.TenantUID) ||
				served.SubscriptionNamespace != in.Config.Namespace || served.GatewayName != in.Tenant.Gateway.Name || served.GatewayNamespace != in.Tenant.Gateway.Namespace {
				t.Errorf("serves %+v", served.General)
			}
			if !served.Secure || served.CertFile == "" || served.KeyFile == "" {
				t.Errorf("TLS is %+v", served.TLS)
			}
			if len(got.aiTenant) == 0 {
				return
			}
			groups := []config.Group{config.GroupGeneral, config.GroupDatabase, config.GroupKeys}
			job := container[batchv1.Job](t, got.aiTenant, "Job", func(j batchv1.Job) corev1.PodTemplateSpec { return j.Spec.Template })
			revocation := read(t, "SSL_CERT_DIR", job, groups)
			if revocation.DatabaseURLFile == "" {
				t.Error("the revocation would ask the API server for the database, and has no token")
			}
			if keys := in.Config.Spec.APIKeys; keys != nil && (served.MaxExpirationDays != int(*keys.MaxExpirationDays) || served.RetentionDays != int(*keys.DeletionRetentionDays) ||
				revocation.RetentionDays != int(*keys.DeletionRetentionDays)) {
				t.Errorf("keys: %+v, revocation %+v, want %+v", served.Keys, revocation.Keys, keys)
			}
		})
	}
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
func read(t *testing.T, libraryVariable string, c corev1.Container, groups []config.Group) config.Config {
	t.Helper()
	known := map[string]bool{libraryVariable: true}
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
