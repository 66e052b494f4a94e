// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("The audit log", func() {
	It("records a write under the name of who asked for it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := "writer-" + namespace
		alice := clientAs(ctx, namespace, user, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "get"},
		})
		mark := audit.Now()

		Expect(alice.Create(ctx, configMap(namespace, "hers"))).To(Succeed())
		Expect(admin.Create(ctx, configMap(namespace, "not-hers"))).To(Succeed())
		Expect(alice.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hers"}, &corev1.ConfigMap{})).To(Succeed())

		Eventually(func() ([]audit.Event, error) {
			return shared.Audit().After(mark, audit.ByUser(user), audit.ByVerb(audit.VerbGet))
		}).Should(HaveLen(1), "the last request")
		writes, err := shared.Audit().Writes(user)
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(HaveLen(1))
		Expect(writes[0].Resource).To(Equal("configmaps"))
		Expect(writes[0].Namespace).To(Equal(namespace))
		Expect(writes[0].Name).To(Equal("hers"))
		Expect(writes[0].Code).To(Equal(201))
	})

	It("records what was refused", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := "refused-" + namespace
		alice := clientAs(ctx, namespace, user, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"},
		})
		Expect(apierrors.IsForbidden(alice.Create(ctx, configMap(namespace, "hers")))).To(BeTrue())
		Eventually(func() ([]audit.Event, error) {
			return shared.Audit().Events(audit.ByUser(user), audit.Forbidden())
		}).Should(HaveLen(1))
	})
})

var _ = Describe("The operator's identity", func() {
	It("is its ServiceAccount, with a right from config/rbac and no other", func(ctx SpecContext) {
		config, err := shared.OperatorConfig(ctx)
		Expect(err).NotTo(HaveOccurred())
		operator := clientFor(config)

		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: testenv.OperatorNamespace, GenerateName: "harness-",
		}}
		Expect(operator.Create(ctx, lease)).To(Succeed())
		err = operator.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "got %v", err)

		Eventually(func() ([]audit.Event, error) {
			return shared.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.ByVerb(audit.VerbDelete), audit.Forbidden())
		}).Should(HaveLen(1))
		writes, err := shared.Audit().Writes(testenv.OperatorUser, audit.ByVerb(audit.VerbCreate))
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(BeEmpty(), "leases and reviews do not count as writes")
	})

	It("is available as a kubeconfig", func(ctx SpecContext) {
		path, err := shared.OperatorKubeconfig(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(filepath.Dir(path)).To(Equal(shared.Dir()))
		config, err := clientcmd.BuildConfigFromFlags("", path)
		Expect(err).NotTo(HaveOccurred())
		err = clientFor(config).Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}})
		Expect(err).To(MatchError(ContainSubstring(testenv.OperatorUser)))
	})
})

var _ = Describe("OwnerReferencesPermissionEnforcement", func() {
	It("refuses to block an owner's deletion without the right to its finalizers", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		owner := configMap(namespace, "owner")
		Expect(admin.Create(ctx, owner)).To(Succeed())
		reference := metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true),
		}
		create := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}
		finalize := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps/finalizers"}, Verbs: []string{"update"}}

		without := clientAs(ctx, namespace, "without-"+namespace, create)
		Expect(without.Create(ctx, configMap(namespace, "dependent", reference))).To(
			MatchError(ContainSubstring("cannot set blockOwnerDeletion")))

		with := clientAs(ctx, namespace, "with-"+namespace, create, finalize)
		Expect(with.Create(ctx, configMap(namespace, "dependent", reference))).To(Succeed())
	})
})

// clientAs returns a client that acts as a user with exactly the given rights in
// a namespace, once the API server has noticed them.
func clientAs(ctx context.Context, namespace, user string, rules ...rbacv1.PolicyRule) client.Client {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: rules}
	Expect(admin.Create(ctx, role)).To(Succeed())
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	Expect(admin.Create(ctx, binding)).To(Succeed())
	config := shared.AdminConfig()
	config.Impersonate.UserName = user
	c := clientFor(config)
	for _, rule := range rules {
		Eventually(func() (bool, error) { return allowed(ctx, c, namespace, rule) }).Should(BeTrue())
	}
	return c
}
