// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/workload"
)

// server is a Deployment of the tiny program that serves, and its Service.
type server struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
}

func newServer(namespace, name string) server {
	return server{
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels(name)},
					Spec: corev1.PodSpec{
						TerminationGracePeriodSeconds: new(int64(5)),
						Containers: []corev1.Container{{
							Name: "tiny", Image: imageTiny, Command: []string{"/tiny"},
							Env:   []corev1.EnvVar{{Name: tinyVariable, Value: "serve"}},
							Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: tinyPort}},
							ReadinessProbe: &corev1.Probe{
								InitialDelaySeconds: 600, PeriodSeconds: 5,
								ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")}},
							},
						}},
					},
				},
			},
		},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": name},
				Ports:    []corev1.ServicePort{{Name: "web", Port: 8443, TargetPort: intstr.FromString("http")}},
			},
		},
	}
}

func (s server) pod() *corev1.PodSpec { return &s.deployment.Spec.Template.Spec }

func (s server) container() *corev1.Container { return &s.pod().Containers[0] }

func (s server) set(name, value string) {
	s.container().Env = append(s.container().Env, corev1.EnvVar{Name: name, Value: value})
}

// mount mounts a volume at a path.
func (s server) mount(path string, source corev1.VolumeSource) {
	name := fmt.Sprintf("volume-%d", len(s.pod().Volumes))
	s.pod().Volumes = append(s.pod().Volumes, corev1.Volume{Name: name, VolumeSource: source})
	s.container().VolumeMounts = append(s.container().VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

func (s server) create(ctx context.Context) {
	GinkgoHelper()
	create(ctx, s.service, s.deployment)
}

// available is how many of its Pods are.
func (s server) available(ctx context.Context) func() (int32, error) {
	return func() (int32, error) {
		d := &appsv1.Deployment{}
		err := admin.Get(ctx, client.ObjectKeyFromObject(s.deployment), d)
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas {
			return -1, err
		}
		return d.Status.AvailableReplicas, err
	}
}

// get asks the Service.
func (s server) get(ctx context.Context, path string) func() (string, error) {
	return func() (string, error) {
		address, err := runner.Service(ctx, workload.ServicePort{Namespace: s.service.Namespace, Name: s.service.Name, Port: 8443})
		if err != nil {
			return "", err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
		if err != nil {
			return "", err
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
}

var _ = Describe("A Deployment", func() {
	It("runs with its variables and files, and is available once its program is ready", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		create(ctx, configMap(ns, "settings", map[string]string{"ready": "no", "color": "blue"}), secret(ns, "password", map[string]string{"text": "hidden"}))
		s := newServer(ns, "web")
		s.mount("/etc/settings", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}})
		s.set("READY", "/etc/settings/ready")
		s.mount("/etc/password", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "password"}})
		s.set("FILE", "/etc/password/text")
		s.container().Env = append(s.container().Env, corev1.EnvVar{Name: "COLOR", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "color"},
		}})
		s.create(ctx)

		By("not being ready while the program says so")
		Eventually(func() []workload.Container { return runner.Containers(ns) }).Should(ContainElement(HaveField("Running", true)))
		Eventually(warnings(ctx, ns)).Should(ContainElement(ContainSubstring("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503")))
		Expect(s.available(ctx)()).To(BeEquivalentTo(0))
		_, err := s.get(ctx, "/file")()
		Expect(err).To(HaveOccurred(), "a Service leads to a Pod that is not ready")

		By("following a changed ConfigMap")
		Expect(admin.Update(ctx, configMap(ns, "settings", map[string]string{"ready": "yes", "color": "red"}))).To(Succeed())
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))
		Eventually(s.get(ctx, "/file")).Should(Equal("hidden"))
		Expect(s.get(ctx, "/env?name=COLOR")()).To(Equal("blue"), "variables are those of the start")

		By("following a changed Secret")
		Expect(admin.Update(ctx, secret(ns, "password", map[string]string{"text": "other"}))).To(Succeed())
		Eventually(s.get(ctx, "/file")).Should(Equal("other"))

		By("not being ready any more when the program says so")
		Expect(admin.Update(ctx, configMap(ns, "settings", map[string]string{"ready": "no", "color": "red"}))).To(Succeed())
		Eventually(s.available(ctx)).Should(BeEquivalentTo(0))
	})

	It("starts when a missing Secret is there", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := newServer(ns, "web")
		s.mount("/etc/password", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "password"}})
		s.create(ctx)
		Eventually(warnings(ctx, ns)).Should(ContainElement(And(ContainSubstring("FailedMount"), ContainSubstring(`"password" not found`))))
		Expect(pods(ctx, ns, "web")).To(ConsistOf(HaveField("Status.Phase", corev1.PodPending)))
		Expect(runner.Containers(ns)).To(BeEmpty())

		create(ctx, secret(ns, "password", map[string]string{"text": "hidden"}))
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))
	})

	DescribeTable("says why it does not start",
		func(ctx SpecContext, change func(s server), want string) {
			ns := newNamespace(ctx)
			s := newServer(ns, "web")
			change(s)
			create(ctx, configMap(ns, "settings", nil))
			s.create(ctx)
			Eventually(waitingFor(ctx, ns, "web")).Should(ContainSubstring(want))
			Expect(s.available(ctx)()).To(BeEquivalentTo(0))
		},
		Entry("with an image that is not there", func(s server) { s.container().Image = imageUnknown }, "ErrImagePull: Failed to pull image"),
		Entry("with a missing key", func(s server) {
			s.container().Env = append(s.container().Env, corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
				ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "missing"},
			}})
		}, "CreateContainerConfigError: variable A: couldn't find key missing in ConfigMap"),
		Entry("with another command than the image has", func(s server) { s.container().Command = []string{"/bin/sh"} }, "CrashLoopBackOff"),
		Entry("with a flag that the program refuses", func(s server) { s.container().Args = []string{"--unknown"} }, "CrashLoopBackOff"),
		Entry("with a program that fails", func(s server) { s.container().Env[0].Value = "7" }, "CrashLoopBackOff"),
		Entry("with a program that ends", func(s server) { s.container().Env[0].Value = "0" }, "CrashLoopBackOff"),
		Entry("with what is not understood", func(s server) {
			s.container().ReadinessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
		}, "probes by commands"),
	)

	It("is not ready when nobody listens on the port of its probe", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := newServer(ns, "web")
		s.container().ReadinessProbe.HTTPGet.Port = intstr.FromInt32(tinyPort + 1)
		s.create(ctx)
		Eventually(warnings(ctx, ns)).Should(ContainElement(ContainSubstring("connection refused")))
		Expect(s.available(ctx)()).To(BeEquivalentTo(0))
	})

	It("restarts a program that a liveness probe finds dead", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		create(ctx, configMap(ns, "settings", map[string]string{"ready": "no"}))
		s := newServer(ns, "web")
		s.mount("/etc/settings", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}})
		s.set("READY", "/etc/settings/ready")
		probe := s.container().ReadinessProbe
		s.container().ReadinessProbe = nil
		probe.InitialDelaySeconds, probe.PeriodSeconds, probe.FailureThreshold = 0, 1, 1
		s.container().LivenessProbe = probe
		s.create(ctx)
		Eventually(func() []workload.Container { return runner.Containers(ns) }).Should(ContainElement(HaveField("Restarts", BeNumerically(">", 0))))
		Eventually(func() []corev1.ContainerStatus { return pods(ctx, ns, "web")[0].Status.ContainerStatuses }).
			Should(ContainElement(HaveField("RestartCount", BeNumerically(">", 0))))
	})

	It("replaces its programs when its template changes, and ends them when it is deleted", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := newServer(ns, "web")
		s.set("VERSION", "1")
		s.create(ctx)
		Eventually(s.get(ctx, "/env?name=VERSION")).Should(Equal("1"))
		first := runner.Containers(ns)
		Expect(first).To(HaveLen(1))

		Eventually(func() error {
			changed := &appsv1.Deployment{}
			if err := admin.Get(ctx, client.ObjectKeyFromObject(s.deployment), changed); err != nil {
				return err
			}
			changed.Spec.Template.Spec.Containers[0].Env[1].Value = "2"
			return admin.Update(ctx, changed)
		}).Should(Succeed())
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))
		Eventually(s.get(ctx, "/env?name=VERSION")).Should(Equal("2"))
		Eventually(func() []workload.Container { return runner.Containers(ns) }).Should(ConsistOf(HaveField("Pod", Not(Equal(first[0].Pod)))))
		Expect(commandLine(first[0].PID)).To(BeEmpty())

		second := runner.Containers(ns)
		Expect(commandLine(second[0].PID)).NotTo(BeEmpty())
		Expect(admin.Delete(ctx, s.deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() []workload.Container { return runner.Containers(ns) }).Should(BeEmpty())
		Expect(commandLine(second[0].PID)).To(BeEmpty())
		list := &corev1.PodList{}
		Eventually(func() ([]corev1.Pod, error) {
			err := admin.List(ctx, list, client.InNamespace(ns))
			return list.Items, err
		}).Should(BeEmpty())
	})

	It("may only pretend, without a program", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		s := newServer(ns, "web")
		s.container().Image = imagePretend
		s.create(ctx)
		Eventually(s.available(ctx)).Should(BeEquivalentTo(1))
		Expect(runner.Containers(ns)).To(BeEmpty())
		Expect(admin.Delete(ctx, s.deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() []corev1.Pod { return pods(ctx, ns, "web") }).Should(BeEmpty())
	})
})
