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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

func commandLine(pid int) string { return process.CommandLine(pid) }

// job is one of the tiny program.
func job(namespace, name, mode string, env ...corev1.EnvVar) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(1)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(name)},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyOnFailure,
					Containers: []corev1.Container{{
						Name: "tiny", Image: imageTiny, Env: append([]corev1.EnvVar{{Name: tinyVariable, Value: mode}}, env...),
					}},
				},
			},
		},
	}
}

// outcome is the final condition of a Job, once it has one.
func outcome(ctx context.Context, j *batchv1.Job) func() (batchv1.JobConditionType, error) {
	return func() (batchv1.JobConditionType, error) {
		found := &batchv1.Job{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(j), found); err != nil {
			return "", err
		}
		for _, c := range found.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				return c.Type, nil
			}
		}
		return "", nil
	}
}

var _ = Describe("A Job", func() {
	It("completes when its program succeeds", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		j := job(ns, "work", "0")
		create(ctx, j)
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobComplete))
	})

	DescribeTable("fails when its program fails",
		func(ctx SpecContext, policy corev1.RestartPolicy) {
			ns := newNamespace(ctx)
			j := job(ns, "work", "7")
			j.Spec.Template.Spec.RestartPolicy = policy
			create(ctx, j)
			Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobFailed))
		},
		Entry("after restarts of its container", corev1.RestartPolicyOnFailure),
		Entry("after further Pods", corev1.RestartPolicyNever),
	)

	It("fails when its time is over, and its program is ended", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		j := job(ns, "work", "serve")
		j.Spec.ActiveDeadlineSeconds = new(int64(2))
		create(ctx, j)
		Eventually(func() []workload.Container { return runner.Containers(ns) }).Should(ContainElement(HaveField("Running", true)))
		pid := runner.Containers(ns)[0].PID
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobFailed))
		Eventually(func() string { return commandLine(pid) }).Should(BeEmpty())
	})

	It("waits for a missing Secret", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		j := job(ns, "work", "0", corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "password"}, Key: "text"},
		}})
		create(ctx, j)
		Eventually(waitingFor(ctx, ns, "work")).Should(And(ContainSubstring("CreateContainerConfigError"), ContainSubstring(`"password" not found`)))
		create(ctx, secret(ns, "password", map[string]string{"text": "hidden"}))
		Eventually(outcome(ctx, j)).Should(Equal(batchv1.JobComplete))
	})

	It("has the token of its ServiceAccount, or none", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "worker"}})
		with, without := job(ns, "with", "whoami"), job(ns, "without", "whoami")
		with.Spec.Template.Spec.ServiceAccountName = "worker"
		without.Spec.Template.Spec.AutomountServiceAccountToken = new(false)
		create(ctx, with, without)
		Eventually(outcome(ctx, with)).Should(Equal(batchv1.JobComplete))
		Eventually(outcome(ctx, without)).Should(Equal(batchv1.JobFailed))
		Expect(runner.Containers(ns)).To(ContainElement(
			WithTransform(func(c workload.Container) string { text, _ := os.ReadFile(c.Log); return string(text) },
				ContainSubstring(`"system:serviceaccount:`+ns+`:worker"`))))
	})
})

var _ = Describe("Certificates", func() {
	// call is a Job that succeeds if the Service of a server answers under a
	// certificate that a file in a volume vouches for.
	call := func(ns, name, host string, authority corev1.VolumeSource, file string) *batchv1.Job {
		j := job(ns, name, "call",
			corev1.EnvVar{Name: "URL", Value: "https://" + host + ":8443/ready"}, corev1.EnvVar{Name: "CA", Value: "/etc/authority/" + file})
		j.Spec.BackoffLimit = new(int32(0))
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		j.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "authority", VolumeSource: authority}}
		j.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "authority", MountPath: "/etc/authority"}}
		return j
	}
	// secure is a server with HTTPS under the certificate in a Secret.
	secure := func(ns, secretName string) server {
		s := newServer(ns, "web")
		s.container().ReadinessProbe.HTTPGet.Scheme = corev1.URISchemeHTTPS
		s.mount("/etc/tls", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretName}})
		s.set("TLS", "/etc/tls")
		return s
	}

	It("come from OpenShift's service CA", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := secure(ns, "web-tls")
		s.service.Annotations = map[string]string{"service.beta.openshift.io/serving-cert-secret-name": "web-tls"}
		s.create(ctx)
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))

		authority := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: workload.CABundleName}}}
		trusting := call(ns, "trusting", "web."+ns+".svc", authority, workload.CABundleKey)
		create(ctx, configMap(ns, "nothing", nil))
		authority.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nothing"}}
		wary := call(ns, "wary", "web."+ns+".svc", authority, workload.CABundleKey)
		create(ctx, trusting, wary)
		Eventually(outcome(ctx, trusting)).Should(Equal(batchv1.JobComplete))
		Eventually(outcome(ctx, wary)).Should(Equal(batchv1.JobFailed))

		By("making the Secret again, and the ConfigMap")
		Expect(admin.Delete(ctx, secret(ns, "web-tls", nil))).To(Succeed())
		Expect(admin.Delete(ctx, configMap(ns, workload.CABundleName, nil))).To(Succeed())
		for name, o := range map[string]client.Object{"web-tls": &corev1.Secret{}, workload.CABundleName: &corev1.ConfigMap{}} {
			Eventually(func() error { return admin.Get(ctx, types.NamespacedName{Namespace: ns, Name: name}, o) }).Should(Succeed())
		}
	})

	It("come from cert-manager", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := secure(ns, "web-cert")
		s.create(ctx)
		certificate := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
			"metadata": map[string]any{"namespace": ns, "name": "web-cert"},
			"spec": map[string]any{
				"secretName": "web-cert", "dnsNames": []any{"web." + ns + ".svc"},
				"issuerRef": map[string]any{"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "any"},
			},
		}}
		create(ctx, certificate)
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))
		authority := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "web-cert", Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "authority.crt"}},
		}}
		trusting := call(ns, "trusting", "web."+ns+".svc.cluster.local", authority, "authority.crt")
		create(ctx, trusting)
		Eventually(outcome(ctx, trusting)).Should(Equal(batchv1.JobComplete))
		Eventually(func() ([]any, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(certificate), certificate)
			conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
			return conditions, err
		}).Should(ConsistOf(HaveKeyWithValue("type", "Ready")))
	})

	It("do not help a call of a Service that does not exist", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		create(ctx, configMap(ns, "nothing", nil))
		authority := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nothing"}}}
		lost := call(ns, "lost", "nobody."+ns+".svc", authority, "none")
		create(ctx, lost)
		Eventually(outcome(ctx, lost)).Should(Equal(batchv1.JobFailed))
	})
})
