// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// appoint gives users the right that makes them administrators of the tenant, and
// waits until the API server knows.
func appoint(ctx SpecContext, subjects ...string) *rbacv1.RoleBinding {
	GinkgoHelper()
	name := unique("administrators")
	meta := metav1.ObjectMeta{Namespace: service.Tenant, Name: name}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"maasauthpolicies"}, Verbs: []string{"create"},
	}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}}
	for _, subject := range subjects {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: subject})
	}
	publish(ctx, role, binding)
	for _, subject := range subjects {
		Eventually(func() bool { return mayAdminister(ctx, subject, nil) }).Should(BeTrue())
	}
	return binding
}

// mayAdminister asks the API server.
func mayAdminister(ctx SpecContext, user string, groups []string) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: service.Tenant, Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: "maasauthpolicies",
		},
	}}
	Expect(on.Admin.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

// reviews are the admin checks that replicas asked of the API server after a mark.
func reviews(mark audit.Mark) []audit.Event {
	GinkgoHelper()
	return must(on.Env.Audit().After(mark, audit.ByUser(service.Account().User()),
		audit.ByResource("authorization.k8s.io", "subjectaccessreviews")))
}

// tokenReviews are the questions about tokens that replicas asked after a mark.
func tokenReviews(mark audit.Mark) []audit.Event {
	GinkgoHelper()
	return must(on.Env.Audit().After(mark, audit.ByUser(service.Account().User()), audit.ByResource("authentication.k8s.io", "tokenreviews")))
}

var _ = Describe("Administrators", func() {
	It("are whoever may create auth policies in the tenant's namespace, by name or group (E-83)", func(ctx SpecContext) {
		group := unique("wardens")
		meta := metav1.ObjectMeta{Namespace: service.Tenant, Name: group}
		publish(ctx,
			&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"maasauthpolicies"}, Verbs: []string{"create"},
			}}},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: group},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
			})
		Eventually(func() bool { return mayAdminister(ctx, "anybody", []string{group}) }).Should(BeTrue())

		owner, name := member()
		newKey(ctx, owner)
		warden := unique("warden")
		body := map[string]any{"filters": map[string]any{"username": name}}
		Expect(must(api.Client().As(warden, group).Search(ctx, body)).Data).To(HaveLen(1))
		Expect(post(ctx, api.Client().As(warden), "/v1/api-keys/search", body)).To(answer(http.StatusForbidden, "non-admin users"),
			"the same user without the group is another caller (E-77)")
	})

	It("are asked for once, whatever the order of the groups (E-77)", func(ctx SpecContext) {
		boss := unique("boss")
		appoint(ctx, boss)
		body := map[string]any{"filters": map[string]any{"username": unique("nobody")}}
		mark := audit.Now()
		for _, groups := range [][]string{{"one", "two"}, {"two", "one"}, {"one", "two"}} {
			Expect(must(api.Client().As(boss, groups...).Search(ctx, body)).Data).To(BeEmpty())
		}
		Expect(reviews(mark)).To(HaveLen(1))
		Expect(series(ctx, api, "sar_cache_hits_total")).To(BeNumerically(">=", 2))
	})

	It("are asked for once by calls at the same time (E-85 fixed)", func(ctx SpecContext) {
		boss := unique("boss")
		appoint(ctx, boss)
		body := map[string]any{"filters": map[string]any{"username": unique("nobody")}}
		mark := audit.Now()
		const callers = 20
		atOnce(callers, func(int) { must(api.Client().As(boss).Search(ctx, body)) })
		Expect(reviews(mark)).To(HaveLen(1))
	})

	It("do not wait for each other: sixty callers who need a check are answered at once (E-84, W-5 fixed)", func(ctx SpecContext) {
		body := map[string]any{"filters": map[string]any{"username": unique("nobody")}}
		begin := time.Now()
		const callers = 60
		atOnce(callers, func(int) {
			Expect(post(ctx, api.Client().As(unique("curious")), "/v1/api-keys/search", body)).To(answer(http.StatusForbidden))
		})
		Expect(time.Since(begin)).To(BeNumerically("<", 5*time.Second), "a client-side limit would let five through each second")
	})

	It("are not asked for by those who search their own keys (W-5 fixed)", func(ctx SpecContext) {
		owner, name := member()
		newKey(ctx, owner)
		mark := audit.Now()
		must(owner.Search(ctx, map[string]any{"filters": map[string]any{"username": name}}))
		Expect(reviews(mark)).To(BeEmpty())
	})
})

// atOnce calls f from many goroutines and returns when all are done.
func atOnce(callers int, f func(int)) {
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			defer GinkgoRecover()
			f(i)
		})
	}
	group.Wait()
}
