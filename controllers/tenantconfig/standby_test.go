// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/test/rig"
)

// taken is a lock that another process holds.
type taken struct{}

func (taken) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "another", LeaseDurationSeconds: 3600, RenewTime: metav1.Now()}, []byte("another"), nil
}

func (taken) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return errors.New("taken")
}

func (taken) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return errors.New("taken")
}
func (taken) RecordEvent(string) {}
func (taken) Identity() string   { return "standby" }
func (taken) Describe() string   { return "a lock that is taken" }

var _ = Describe("a process that does not lead", func() {
	It("fills the cache of the Secret with the database's address", func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		mgr, err := ctrl.NewManager(suite.Operator, ctrl.Options{
			Metrics:        server.Options{BindAddress: "0"},
			LeaderElection: true, LeaderElectionID: "standby", LeaderElectionResourceLockInterface: taken{},
		})
		Expect(err).NotTo(HaveOccurred())
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key := types.NamespacedName{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}
		secrets, err := trigger.CacheOf(mgr, secret, key)
		Expect(err).NotTo(HaveOccurred())
		rig.Run(ctx, mgr)
		wait, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		Expect(secrets.WaitForCacheSync(wait)).To(BeTrue())
		Expect(secrets.Get(wait, key, secret)).To(Succeed())
		Expect(mgr.Elected()).NotTo(BeClosed())
	})
})
