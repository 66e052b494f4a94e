// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// certificate is the part of cert-manager's kind that is used.
type certificate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		SecretName  string   `json:"secretName"`
		DNSNames    []string `json:"dnsNames"`
		Duration    string   `json:"duration"`
		RenewBefore string   `json:"renewBefore"`
		IssuerRef   struct {
			Kind  string `json:"kind"`
			Name  string `json:"name"`
			Group string `json:"group"`
		} `json:"issuerRef"`
	} `json:"spec"`
}

func environment(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// pods are the Pod templates of a tenant by the kind of their owner.
func pods(t *testing.T, in tenant.Input) map[string]corev1.PodTemplateSpec {
	t.Helper()
	return map[string]corev1.PodTemplateSpec{
		"Deployment": object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Template,
		"CronJob":    object[batchv1.CronJob](t, in, tenant.KeyCleanupTemplate).Spec.JobTemplate.Spec.Template,
		"Job":        object[batchv1.Job](t, in, tenant.RevocationJobTemplate).Spec.Template,
	}
}

// TestNamesOfTenants has rows E-123 and E-125.
func TestNamesOfTenants(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ workload, route, tenantName string }{
		tenancy.DefaultName: {"maas-api", "maas-api-route", "models-as-a-service"},
		"redteam":           {"maas-api-redteam", "maas-api-route-redteam", "redteam"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tenant.OpenShift, name)
			deployment := object[appsv1.Deployment](t, in, tenant.DeploymentTemplate)
			if deployment.Name != tc.workload || object[corev1.Service](t, in, tenant.ServiceTemplate).Name != tc.workload || find(t, in, tenant.RouteTemplate).Name != tc.route {
				t.Errorf("Deployment %s, HTTPRoute %s", deployment.Name, find(t, in, tenant.RouteTemplate).Name)
			}
			env := environment(deployment.Spec.Template.Spec.Containers[0])
			if env["TENANT_NAME"] != tc.tenantName || env["TENANT_UID"] != "uid-of-"+name || env["MAAS_SUBSCRIPTION_NAMESPACE"] != namespaceOf(name) {
				t.Errorf("env = %v", env)
			}
			args := object[batchv1.Job](t, in, tenant.RevocationJobTemplate).Spec.Template.Spec.Containers[0].Args
			if diff := cmp.Diff([]string{"revoke", "--tenant", tc.tenantName, "--tenant-uid", "uid-of-" + name}, args); diff != "" {
				t.Errorf("arguments of the revocation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnmanagedTenantHasNoUID(t *testing.T) {
	t.Parallel()
	in := input(tenant.OpenShift, tenancy.DefaultName)
	in.TenantUID, in.DatabaseSecretVersion = "", ""
	template := object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Template
	if _, set := environment(template.Spec.Containers[0])["TENANT_UID"]; set || len(template.Annotations) > 0 {
		t.Errorf("env %v, annotations %v", template.Spec.Containers[0].Env, template.Annotations)
	}
}

// TestTheRouteLeadsToTheTenantsService has row E-124, with the longer list of the
// design, and weaknesses W-1 and W-15.
func TestTheRouteLeadsToTheTenantsService(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tenancy.DefaultName, "redteam"} {
		in := input(tenant.OpenShift, name)
		spec := object[gwapiv1.HTTPRoute](t, in, tenant.RouteTemplate).Spec
		service := object[corev1.Service](t, in, tenant.ServiceTemplate)
		paths := publicpath.Paths()
		if len(spec.Rules) != len(paths) {
			t.Fatalf("%d rules for %d paths", len(spec.Rules), len(paths))
		}
		for i := range spec.Rules {
			if diff := cmp.Diff(wantRule(paths[i], service), spec.Rules[i]); diff != "" {
				t.Errorf("%s: rule %d (-want +got):\n%s", name, i, diff)
			}
		}
		if p := spec.ParentRefs[0]; len(spec.ParentRefs) != 1 || string(*p.Namespace) != in.Tenant.Gateway.Namespace || string(p.Name) != in.Tenant.Gateway.Name {
			t.Errorf("%s: parents %v", name, spec.ParentRefs)
		}
	}
}

func wantRule(p publicpath.Path, service corev1.Service) gwapiv1.HTTPRouteRule {
	match, rewrite := gwapiv1.PathMatchPathPrefix, &gwapiv1.HTTPPathModifier{Type: gwapiv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &p.Target}
	if p.Exact {
		match, rewrite = gwapiv1.PathMatchExact, &gwapiv1.HTTPPathModifier{Type: gwapiv1.FullPathHTTPPathModifier, ReplaceFullPath: &p.Target}
	}
	rule := gwapiv1.HTTPRouteRule{
		Matches: []gwapiv1.HTTPRouteMatch{{Path: &gwapiv1.HTTPPathMatch{Type: &match, Value: &p.Path}}},
		BackendRefs: []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{
			BackendObjectReference: gwapiv1.BackendObjectReference{
				Group: new(gwapiv1.Group("")), Kind: new(gwapiv1.Kind("Service")), Name: gwapiv1.ObjectName(service.Name), Port: &service.Spec.Ports[0].Port,
			},
			Weight: new(int32(100)),
		}}},
	}
	if p.Target != "" {
		rule.Filters = []gwapiv1.HTTPRouteFilter{{Type: gwapiv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwapiv1.HTTPURLRewriteFilter{Path: rewrite}}}
	}
	return rule
}

// TestPortsMeet has weakness W-6: what is referred to is declared.
func TestPortsMeet(t *testing.T) {
	t.Parallel()
	in := input(tenant.OpenShift, "redteam")
	container := object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Template.Spec.Containers[0]
	declared := map[string]int32{}
	for _, p := range container.Ports {
		declared[p.Name] = p.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"https": tenancy.MaaSAPIPort, "metrics": 9090}, declared); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	targets := []intstr.IntOrString{container.LivenessProbe.HTTPGet.Port, container.ReadinessProbe.HTTPGet.Port}
	for _, p := range object[corev1.Service](t, in, tenant.ServiceTemplate).Spec.Ports {
		targets = append(targets, p.TargetPort)
	}
	for _, target := range targets {
		if declared[target.String()] == 0 {
			t.Errorf("port %s is not declared", target.String())
		}
	}
	if environment(container)["METRICS_PORT"] != "9090" {
		t.Error("metrics are served elsewhere")
	}
}

// TestSelectorsKeepTenantsApart has weaknesses W-5 and W-7.
func TestSelectorsKeepTenantsApart(t *testing.T) {
	t.Parallel()
	names := []string{tenancy.DefaultName, "redteam", longest}
	for _, own := range names {
		in := input(tenant.OpenShift, own)
		service := labels.SelectorFromSet(object[corev1.Service](t, in, tenant.ServiceTemplate).Spec.Selector)
		deployment := labels.SelectorFromSet(object[appsv1.Deployment](t, in, tenant.DeploymentTemplate).Spec.Selector.MatchLabels)
		for _, other := range names {
			for owner, template := range pods(t, input(tenant.OpenShift, other)) {
				mine := own == other && owner == "Deployment"
				if got := service.Matches(labels.Set(template.Labels)); got != mine {
					t.Errorf("Service of %s selects the %s of %s: %v", own, owner, other, got)
				}
				if own == tenancy.DefaultName && owner == "Deployment" {
					continue // Its selector is that of earlier releases.
				}
				if got := deployment.Matches(labels.Set(template.Labels)); got != mine {
					t.Errorf("Deployment of %s selects the %s of %s: %v", own, owner, other, got)
				}
			}
		}
	}
	frozen := map[string]string{
		"app.kubernetes.io/component": "api", "app.kubernetes.io/name": "maas-api", "app.kubernetes.io/part-of": "models-as-a-service",
	}
	selector := object[appsv1.Deployment](t, input(tenant.Kubernetes, tenancy.DefaultName), tenant.DeploymentTemplate).Spec.Selector
	if diff := cmp.Diff(&metav1.LabelSelector{MatchLabels: frozen}, selector); diff != "" {
		t.Errorf("the selector of the default tenant's Deployment cannot be changed (-want +got):\n%s", diff)
	}
	upgraded := input(tenant.OpenShift, "redteam")
	upgraded.Selector = frozen
	selector = object[appsv1.Deployment](t, upgraded, tenant.DeploymentTemplate).Spec.Selector
	if diff := cmp.Diff(&metav1.LabelSelector{MatchLabels: frozen}, selector); diff != "" {
		t.Errorf("the selector of a Deployment of an earlier release cannot be changed (-want +got):\n%s", diff)
	}
}

// TestTheServingCertificate has row E-137 and weaknesses W-4 and W-17: one Secret is
// made, mounted and trusted.
func TestTheServingCertificate(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{tenancy.DefaultName: "maas-api-serving-cert", "redteam": "maas-api-redteam-serving-cert", longest: "maas-api-" + longest + "-serving-cert"} {
		for _, platform := range platforms() {
			in := input(platform, name)
			service := object[corev1.Service](t, in, tenant.ServiceTemplate)
			mounted := volume(pods(t, in)["Deployment"].Spec, "maas-api-tls").Secret
			if mounted == nil || mounted.SecretName != want || (mounted.Optional != nil && *mounted.Optional) {
				t.Errorf("%s, %s: mounts %v, want %s", platform, name, mounted, want)
			}
			wantAnnotations := map[string]string{"service.beta.openshift.io/serving-cert-secret-name": want}
			if platform == tenant.Kubernetes {
				wantAnnotations = nil
				checkCertificate(t, object[certificate](t, in, tenant.CertificateTemplate), want, service.Name+"."+infra+".svc")
			}
			if diff := cmp.Diff(wantAnnotations, service.Annotations); diff != "" {
				t.Errorf("%s, %s: annotations of the Service (-want +got):\n%s", platform, name, diff)
			}
		}
	}
}

func checkCertificate(t *testing.T, cert certificate, want, host string) {
	t.Helper()
	if cert.Spec.SecretName != want || cert.Name != want || !slices.Equal(cert.Spec.DNSNames, []string{host, host + ".cluster.local"}) {
		t.Errorf("%s: Certificate %v", host, cert)
	}
	if cert.Spec.Duration != "2160h0m0s" || cert.Spec.RenewBefore != "360h0m0s" {
		t.Errorf("%s: valid %s, renewed %s before", host, cert.Spec.Duration, cert.Spec.RenewBefore)
	}
}

func volume(spec corev1.PodSpec, name string) corev1.Volume {
	for i := range spec.Volumes {
		if spec.Volumes[i].Name == name {
			return spec.Volumes[i]
		}
	}
	return corev1.Volume{}
}

// TestCertificatesAreVerified has weakness W-8, and W-17: no pod mounts what only
// OpenShift has on another platform.
func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		in := input(platform, "redteam")
		for owner, template := range pods(t, in) {
			source := volume(template.Spec, "service-ca")
			switch {
			case platform == tenant.OpenShift && (source.ConfigMap == nil || source.ConfigMap.Name != "openshift-service-ca.crt" || source.ConfigMap.Items[0].Key != "service-ca.crt"):
				t.Errorf("%s, %s: authority from %v", platform, owner, source)
			case platform == tenant.Kubernetes && (source.Secret == nil || source.Secret.SecretName != in.Tenant.MaaSAPIServingCert() || len(source.Secret.Items) != 1 || source.Secret.Items[0].Key != "ca.crt"):
				t.Errorf("%s, %s: authority from %v, want ca.crt alone", platform, owner, source)
			}
		}
		args := strings.Join(pods(t, in)["CronJob"].Spec.Containers[0].Args, " ")
		if want := "cleanup --url https://maas-api-redteam." + infra + ".svc:8443 --ca-file /etc/pki/maas-api/service-ca.crt"; args != want {
			t.Errorf("%s: clean-up runs %q, want %q", platform, args, want)
		}
	}
}

// TestEveryMountedFileIsThere: each path in arguments and variables lies below a
// mount, and each volume is mounted.
func TestEveryMountedFileIsThere(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		for owner, template := range pods(t, input(platform, "redteam")) {
			container := template.Spec.Containers[0]
			var mounts []string
			for _, m := range container.VolumeMounts {
				if volume(template.Spec, m.Name).Name == "" || !m.ReadOnly {
					t.Errorf("%s, %s: mount %v", platform, owner, m)
				}
				mounts = append(mounts, m.MountPath)
			}
			if len(mounts) != len(template.Spec.Volumes) {
				t.Errorf("%s, %s: %d volumes, %d mounts", platform, owner, len(template.Spec.Volumes), len(mounts))
			}
			words := slices.Clone(container.Args)
			for _, e := range container.Env {
				words = append(words, strings.Split(e.Value, ":")...)
			}
			for _, word := range words {
				if !strings.HasPrefix(word, "/") || word == "/etc/ssl/certs" || strings.HasPrefix(word, "//") {
					continue
				}
				if !slices.ContainsFunc(mounts, func(m string) bool { return word == m || strings.HasPrefix(word, m+"/") }) {
					t.Errorf("%s, %s: nothing is mounted at %s", platform, owner, word)
				}
			}
		}
	}
}

// TestPodsAreHardened has weakness W-16.
func TestPodsAreHardened(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		for owner, template := range pods(t, input(platform, "redteam")) {
			var user *int64
			if platform == tenant.Kubernetes {
				user = new(int64(65532))
			}
			seccomp := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
			pod := &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: user, SeccompProfile: seccomp}
			if diff := cmp.Diff(pod, template.Spec.SecurityContext); diff != "" {
				t.Errorf("%s, %s: pod (-want +got):\n%s", platform, owner, diff)
			}
			container := &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true), SeccompProfile: seccomp,
			}
			if diff := cmp.Diff(container, template.Spec.Containers[0].SecurityContext); diff != "" {
				t.Errorf("%s, %s: container (-want +got):\n%s", platform, owner, diff)
			}
			if *template.Spec.EnableServiceLinks {
				t.Errorf("%s, %s: variables of Services would pass for settings", platform, owner)
			}
			serves := owner == "Deployment"
			if *template.Spec.AutomountServiceAccountToken != serves || (template.Spec.ServiceAccountName == tenancy.CleanupServiceAccount) == serves {
				t.Errorf("%s, %s: ServiceAccount %s, token %v", platform, owner, template.Spec.ServiceAccountName, *template.Spec.AutomountServiceAccountToken)
			}
		}
	}
}

// TestTheRevocationNeedsNothingOfTheTenant: it runs when everything else is gone.
func TestTheRevocationNeedsNothingOfTheTenant(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		in := input(platform, "redteam")
		job := object[batchv1.Job](t, in, tenant.RevocationJobTemplate)
		spec := job.Spec.Template.Spec
		ca := volume(spec, "service-ca")
		optional := ca.ConfigMap != nil && *ca.ConfigMap.Optional || ca.Secret != nil && *ca.Secret.Optional
		if secret := volume(spec, "database").Secret; !optional || secret == nil || secret.SecretName != "maas-db-config" || secret.Items[0].Key != "DB_CONNECTION_URL" {
			t.Errorf("%s: volumes %v", platform, spec.Volumes)
		}
		if _, set := job.Labels["maas.opendatahub.io/tenant-namespace"]; set {
			t.Errorf("%s: the Job would go with the tenant's other objects", platform)
		}
		if *job.Spec.BackoffLimit != 2 || *job.Spec.ActiveDeadlineSeconds != 120 || *job.Spec.TTLSecondsAfterFinished != 300 {
			t.Errorf("%s: %v", platform, job.Spec)
		}
		want := map[string]string{
			"maas.opendatahub.io/aitenant-name": "redteam", "maas.opendatahub.io/aitenant-namespace": "ai-tenants", "maas.opendatahub.io/aitenant-uid": "uid-of-redteam",
		}
		if diff := cmp.Diff(want, job.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", platform, diff)
		}
	}
}
