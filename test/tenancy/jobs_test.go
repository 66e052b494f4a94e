// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

var _ = Describe("The clean-up of keys", Ordered, func() {
	BeforeAll(func(ctx SpecContext) { sideBySide(ctx) })

	It("has the tenant's running maas-api do it, whose certificate it verifies", func(ctx SpecContext) {
		for _, t := range []tenant{red, long} {
			runCleanup(ctx, t, "now")
		}
		Expect(logOf("now-" + red.gateway)).To(ContainSubstring("maas-api deleted keys"))
	})

	It("does not talk to somebody with a certificate of another authority", func(ctx SpecContext) {
		server := httptest.NewTLSServer(http.NotFoundHandler())
		server.Close()
		other := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		impostor := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "another-authority"}, Data: map[string]string{workload.CABundleKey: string(other)},
		}
		create(ctx, impostor)
		job := cleanupJob(ctx, red, "deceived")
		job.Spec.BackoffLimit = new(int32(0))
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		for i := range job.Spec.Template.Spec.Volumes {
			if volume := job.Spec.Template.Spec.Volumes[i].ConfigMap; volume != nil {
				volume.Name = impostor.Name
			}
		}
		create(ctx, job)
		Eventually(func() (int32, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(job), job)
			return job.Status.Failed, err
		}).Should(BeEquivalentTo(1))
		Expect(logOf(job.Name)).To(ContainSubstring("certificate"))
	})
})

var _ = Describe("A new address of the database", func() {
	It("is taken over by every tenant's maas-api, one Pod after the other", func(ctx SpecContext) {
		sideBySide(ctx)
		const user = "maas_rotated"
		must(rows.Exec(ctx, fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'rotated' IN ROLE %[2]s; ALTER ROLE %[1]s SET ROLE %[2]s`, user, postgres.Owner)))
		address := must(url.Parse(database))
		address.User = url.UserPassword(user, "rotated")
		before := map[string]string{}
		for _, t := range lasting() {
			before[t.name] = t.template(ctx).Annotations[v1alpha1.AnnotationDatabaseSecretVersion]
		}
		secret := get(ctx, infra, v1alpha1.DatabaseSecretName, &corev1.Secret{})
		change(ctx, secret, func(o *corev1.Secret) { o.Data[v1alpha1.DatabaseSecretKey] = []byte(address.String()) })
		for _, t := range lasting() {
			Eventually(func() (bool, error) {
				d := t.deployment()
				err := on.Admin.Get(ctx, client.ObjectKeyFromObject(d), d)
				return d.Spec.Template.Annotations[v1alpha1.AnnotationDatabaseSecretVersion] == secret.ResourceVersion &&
					d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == 1 && d.Status.AvailableReplicas == 1 && d.Status.Replicas == 1, err
			}).Should(BeTrue(), "the maas-api of %s", t.name)
			Expect(secret.ResourceVersion).NotTo(Equal(before[t.name]))
			Expect(t.direct(ctx).As("rotator", group).Create(ctx, service.CreateKey{Name: "rotated", Subscription: t.subscription()})).NotTo(BeZero())
		}
		var former int
		Eventually(func() (int, error) {
			err := rows.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = $1`, postgres.Owner).Scan(&former)
			return former, err
		}).Should(BeZero(), "connections by the former address")
	})
})

// cleanupJob is what the tenant's CronJob would make when its time comes.
func cleanupJob(ctx context.Context, t tenant, name string) *batchv1.Job {
	GinkgoHelper()
	cron := get(ctx, infra, t.names().KeyCleanup(), &batchv1.CronJob{})
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: name + "-" + t.gateway, Labels: cron.Spec.JobTemplate.Labels},
		Spec:       *cron.Spec.JobTemplate.Spec.DeepCopy(),
	}
}

// runCleanup runs it to its end.
func runCleanup(ctx context.Context, t tenant, name string) {
	GinkgoHelper()
	job := cleanupJob(ctx, t, name)
	create(ctx, job)
	Eventually(completed(ctx, job)).Should(BeTrue(), "Job %s", job.Name)
}
