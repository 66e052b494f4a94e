// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

var _ = Describe("maas-api", Ordered, func() {
	const (
		databaseSecret, databaseKey = "maas-db-config", "DB_CONNECTION_URL"
		tenantNamespace             = "models-as-a-service"
		gatewayNamespace            = "openshift-ingress"
	)
	account := testenv.Account{Namespace: "odh-ai-gateway-infra", Name: "maas-api", Manifests: "config/maas-api/rbac"}
	authority := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: workload.CABundleName}}}
	var (
		ns  = account.Namespace
		api server
		url string
	)

	BeforeAll(func(ctx SpecContext) {
		db, err := postgres.Start(ctx, postgres.Options{Out: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(db.Stop)
		url, err = db.NewDatabase(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{tenantNamespace, gatewayNamespace} {
			create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		_, err = shared.AccountConfig(ctx, account) // It makes the ServiceAccount and grants its rights.
		Expect(err).NotTo(HaveOccurred())

		api = newServer(ns, "maas-api")
		api.service.Annotations = map[string]string{"service.beta.openshift.io/serving-cert-secret-name": "maas-api-serving-cert"}
		api.service.Spec.Ports[0].TargetPort = intstr.FromString("https")
		c := api.container()
		api.pod().ServiceAccountName = account.Name
		c.Image, c.Command, c.Args = imageMaaSAPI, nil, []string{"serve"}
		c.Env = []corev1.EnvVar{
			{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
			{Name: "TENANT_NAME", Value: "models-as-a-service"},
			{Name: "MAAS_SUBSCRIPTION_NAMESPACE", Value: tenantNamespace},
			{Name: "GATEWAY_NAME", Value: "maas-default-gateway"},
			{Name: "GATEWAY_NAMESPACE", Value: gatewayNamespace},
			{Name: "SECURE", Value: "true"},
			{Name: "TLS_CERT", Value: "/etc/maas-api/tls/tls.crt"},
			{Name: "TLS_KEY", Value: "/etc/maas-api/tls/tls.key"},
			{Name: "SSL_CERT_DIR", Value: "/etc/ssl/certs:/etc/ssl/certs/openshift-service-ca"},
			{Name: "METRICS_PORT", Value: "9090"},
		}
		c.Ports = []corev1.ContainerPort{{Name: "https", ContainerPort: 8443}, {Name: "metrics", ContainerPort: 9090}}
		get := &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("https"), Scheme: corev1.URISchemeHTTPS}
		c.ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 5, ProbeHandler: corev1.ProbeHandler{HTTPGet: get}}
		api.mount("/etc/maas-api/tls", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "maas-api-serving-cert"}})
		api.mount("/etc/ssl/certs/openshift-service-ca", authority)
		api.create(ctx)
	})

	// jobOf is a job of the same image.
	jobOf := func(name string, args ...string) *batchv1.Job {
		j := job(ns, name, "")
		c := &j.Spec.Template.Spec.Containers[0]
		c.Image, c.Env, c.Args = imageMaaSAPI, nil, args
		j.Spec.Template.Spec.AutomountServiceAccountToken = new(false)
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		j.Spec.BackoffLimit = new(int32(0))
		return j
	}
	mount := func(j *batchv1.Job, path string, source corev1.VolumeSource) {
		j.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "volume", VolumeSource: source}}
		j.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "volume", MountPath: path}}
	}
	logOf := func(name string) string {
		for _, c := range runner.Containers(ns) {
			if len(c.Pod.Name) > len(name) && c.Pod.Name[:len(name)] == name {
				text, _ := os.ReadFile(c.Log)
				return string(text)
			}
		}
		return ""
	}

	It("is not available while it has no database", func(ctx SpecContext) {
		Eventually(func() string { return logOf("maas-api") }).Should(ContainSubstring(databaseSecret))
		Consistently(api.available(ctx), "2s").Should(BeEquivalentTo(0))
	})

	It("cannot be cleaned up then", func(ctx SpecContext) {
		j := jobOf("cleanup-early", "cleanup", "--url", "https://maas-api."+ns+".svc:8443", "--ca-file", "/etc/pki/maas-api/"+workload.CABundleKey)
		mount(j, "/etc/pki/maas-api", authority)
		create(ctx, j)
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobFailed))
	})

	It("is available when it has one, under the rights of its ServiceAccount", func(ctx SpecContext) {
		create(ctx, secret(ns, databaseSecret, map[string]string{databaseKey: url}))
		Eventually(api.available(ctx)).Should(BeEquivalentTo(1))
		used, err := shared.Audit().Events(audit.ByUser(account.User()))
		Expect(err).NotTo(HaveOccurred())
		Expect(used).NotTo(BeEmpty())
	})

	It("has an address here for each port of its Pod", func() {
		c := runner.Containers(ns)
		Expect(c).To(ContainElement(HaveField("Ports", And(HaveKey(BeEquivalentTo(8443)), HaveKey(BeEquivalentTo(9090))))))
	})

	It("is cleaned up by a job that calls it", func(ctx SpecContext) {
		j := jobOf("cleanup", "cleanup", "--url", "https://maas-api."+ns+".svc:8443", "--ca-file", "/etc/pki/maas-api/"+workload.CABundleKey)
		mount(j, "/etc/pki/maas-api", authority)
		create(ctx, j)
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobComplete))
	})

	It("has its keys revoked by a job on the database", func(ctx SpecContext) {
		j := jobOf("revoke", "revoke", "--tenant", "red-team")
		j.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "DATABASE_URL_FILE", Value: "/etc/maas-api/database/url"}}
		mount(j, "/etc/maas-api/database", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: databaseSecret, Items: []corev1.KeyToPath{{Key: databaseKey, Path: "url"}},
		}})
		create(ctx, j)
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobComplete))
		Expect(logOf("revoke")).To(ContainSubstring("red-team"))
	})

	It("makes a job fail that names no tenant", func(ctx SpecContext) {
		j := jobOf("nobody", "revoke")
		create(ctx, j)
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobFailed))
		Expect(logOf("nobody")).To(ContainSubstring("--tenant is missing"))
	})

	It("ends in good order when its Deployment goes", func(ctx SpecContext) {
		before := logOf("maas-api")
		Expect(before).NotTo(BeEmpty())
		Expect(admin.Delete(context.WithoutCancel(ctx), api.deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() string { return logOf("maas-api") }).Should(BeEmpty())
	})
})
