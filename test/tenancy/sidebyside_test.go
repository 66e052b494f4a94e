// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// furnished tells that the lasting tenants have all they need.
var furnished bool

// sideBySide makes the lasting tenants, each with a model, on the first call.
func sideBySide(ctx context.Context) {
	GinkgoHelper()
	if furnished {
		return
	}
	for _, t := range []tenant{red, long} {
		create(ctx, builder.Gateway(t.gatewayKey(), t.host), t.object())
	}
	change(ctx, &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: theDefault.name}},
		func(o *v1alpha1.AITenant) { o.Spec.OIDC = theDefault.oidc() })
	for _, t := range lasting() {
		t.await(ctx)
		t.furnish(ctx)
	}
	furnished = true
}

// each calls f with every pair of lasting tenants.
func each(f func(from, to tenant)) {
	for _, from := range lasting() {
		for _, to := range lasting() {
			f(from, to)
		}
	}
}

var _ = Describe("Tenants side by side", Ordered, func() {
	keys := map[string]service.CreatedKey{}

	BeforeAll(func(ctx SpecContext) {
		sideBySide(ctx)
		for _, t := range lasting() {
			Eventually(func() (int, error) {
				return statusOf(t.visitor().Bearer(t.token()).Do(ctx, http.MethodGet, "/v1/subscriptions", nil))
			}).
				Should(Equal(http.StatusOK), "the gateway of %s", t.name)
			keys[t.name] = t.newKey(ctx, "of "+t.name)
		}
	})

	It("take their own keys at their own gateways, and refuse those of others", func(ctx SpecContext) {
		each(func(from, to tenant) {
			want, key := http.StatusForbidden, keys[from.name].Key
			if from.name == to.name {
				want = http.StatusOK
			}
			visitor := to.visitor().Bearer(key)
			for _, path := range []string{"/v1/models", "/v1/subscriptions", "/maas-api/v1/models", to.path() + "/v1/chat/completions"} {
				Expect(statusOf(visitor.Do(ctx, http.MethodGet, path, nil))).To(Equal(want), "a key of %s at %s%s", from.name, to.host, path)
			}
			Expect(to.valid(ctx, key)()).To(Equal(from.name == to.name), "a key of %s at the maas-api of %s", from.name, to.name)
		})
	})

	It("do so by the generated policies, which ask their own maas-api and no other", func(ctx SpecContext) {
		each(func(from, to tenant) {
			want, key := http.StatusForbidden, keys[from.name].Key
			if from.name == to.name {
				want = http.StatusOK
			}
			Expect(to.api(ctx).decide(ctx, "/v1/models", key, nil).Status).To(Equal(want), "a key of %s at %s", from.name, to.host)
			Expect(to.served(ctx).decide(ctx, to.path()+"/v1/chat/completions", key, nil).Status).To(Equal(want), "a key of %s at the model of %s", from.name, to.name)
		})
		for _, t := range lasting() {
			own := "https://" + t.names().MaaSAPI() + "." + infra + ".svc.cluster.local:8443/internal/v1/"
			for _, route := range []guarded{t.api(ctx), t.served(ctx)} {
				Expect(route.asked()).To(And(Not(BeEmpty()), HaveEach(HavePrefix(own))), route.auth.GetName())
			}
		}
	})

	It("accept tokens of their own identity provider for their own client, and no others", func(ctx SpecContext) {
		token := "header.claims.signature"
		claims := func(from tenant) map[string]any {
			return map[string]any{"iss": from.issuer(), "azp": from.clientID(), "preferred_username": caller, "groups": []any{group}}
		}
		each(func(from, to tenant) {
			for path, route := range map[string]guarded{"/v1/models": to.api(ctx), to.path() + "/v1/models": to.served(ctx)} {
				answer := route.decide(ctx, path, token, claims(from))
				if from.name != to.name {
					Expect(answer.Status).To(Equal(http.StatusUnauthorized), "a token for %s at %s%s", from.name, to.host, path)
					other := claims(to)
					other["azp"] = from.clientID()
					Expect(route.decide(ctx, path, token, other).Status).To(Equal(http.StatusForbidden), "a token for the client of %s at %s%s", from.name, to.host, path)
					continue
				}
				Expect(answer.Status).To(Equal(http.StatusOK), "a token of %s at %s", from.name, path)
				Expect(answer.Identity).To(HaveKeyWithValue("userid", caller))
			}
			Expect(to.api(ctx).issuers()).To(ConsistOf(to.issuer()))
			Expect(to.served(ctx).issuers()).To(ConsistOf(to.issuer()))
		})
	})

	It("show their own models, subscriptions and keys, and none of others", func(ctx SpecContext) {
		for _, t := range lasting() {
			visitor := t.visitor().Bearer(t.token())
			var models struct {
				Data []struct{ ID string }
			}
			listed := must(visitor.Do(ctx, http.MethodGet, "/v1/models", nil))
			Expect(listed.Into(&models)).To(Succeed())
			Expect(models.Data).To(ConsistOf(HaveField("ID", ContainSubstring(t.model().Name))), listed.String())
			Expect(visitor.Subscriptions(ctx)).To(ConsistOf(HaveField("Name", t.subscription())))
			Expect(must(visitor.Search(ctx, map[string]any{"filters": map[string]any{"status": []string{"active"}}})).Data).To(ConsistOf(HaveField("ID", keys[t.name].ID)), "the keys of %s", t.name)
		}
		each(func(from, to tenant) {
			if from.name == to.name {
				return
			}
			visitor := to.visitor().Bearer(to.token())
			key := "/v1/api-keys/" + keys[from.name].ID
			Expect(statusOf(visitor.Do(ctx, http.MethodGet, key, nil))).To(Equal(http.StatusNotFound))
			Expect(statusOf(visitor.Do(ctx, http.MethodDelete, key, nil))).To(Equal(http.StatusNotFound))
			Expect(statusOf(visitor.Do(ctx, http.MethodPost, "/v1/api-keys", service.CreateKey{Name: "over there", Subscription: from.subscription()}))).
				To(Equal(http.StatusBadRequest), "a key of %s for a subscription of %s", to.name, from.name)
		})
		for _, t := range lasting() {
			Expect(t.valid(ctx, keys[t.name].Key)()).To(BeTrue(), "nobody else has revoked it")
		}
	})

	It("count against their own quotas", func(ctx SpecContext) {
		for _, t := range lasting() {
			route := t.served(ctx)
			Expect(rates(route.limits)).To(ConsistOf(t.quota), "the limits of %s", t.model())
			answer := route.decide(ctx, t.path()+"/v1/chat/completions", keys[t.name].Key, nil)
			Expect(answer.Counted).To(HaveLen(1), "the limits that count a request of %s", t.name)
		}
	})

	It("cannot govern models of others", func(ctx SpecContext) {
		before := map[string]*unstructured.Unstructured{"auth": red.served(ctx).auth, "limits": red.served(ctx).limits}
		intruder := builder.AuthPolicy(long.namespace(), "intruder", red.model()).Subjects([]string{group}, nil).Obj()
		rich := builder.Subscription(long.namespace(), "intruder").Owners([]string{group}, nil).Limit(red.model(), 1_000_000, "1m").Obj()
		create(ctx, intruder, rich)
		DeferCleanup(func(ctx SpecContext) {
			for _, o := range []client.Object{intruder, rich} {
				Expect(on.Admin.Delete(ctx, o)).To(Succeed())
				Eventually(gone(ctx, o)).Should(BeTrue())
			}
		})
		Eventually(func() (v1alpha1.Phase, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(rich), rich)
			return rich.Status.Phase, err
		}).Should(Equal(v1alpha1.PhaseFailed))
		Expect(red.served(ctx).auth.Object["spec"]).To(Equal(before["auth"].Object["spec"]))
		Expect(red.served(ctx).limits.Object["spec"]).To(Equal(before["limits"].Object["spec"]))
		Expect(long.direct(ctx).Select(ctx, service.SelectRequest{Username: caller, Groups: []string{group}, Model: red.model().String()})).
			To(HaveField("AccessAllowed", BeFalse()))
	})

	It("have administrators of their own", func(ctx SpecContext) {
		// Whoever may write subscriptions of a tenant is its administrator for maas-api.
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: red.namespace(), Name: "chief"}}
		binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "aitenant-" + red.name + "-tenant-admin"}
		binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "chief"}}
		create(ctx, binding)
		read := func(t tenant) (int, error) {
			return statusOf(t.direct(ctx).As("chief", group).Do(ctx, http.MethodGet, "/v1/api-keys/"+keys[t.name].ID, nil))
		}
		Eventually(func() (int, error) { return read(red) }).Should(Equal(http.StatusOK))
		for _, t := range []tenant{theDefault, long} {
			Expect(read(t)).NotTo(Equal(http.StatusOK), "the administrator of red at %s", t.name)
		}
	})

	It("read nothing of others", func() {
		for _, t := range lasting() {
			account := "system:serviceaccount:" + infra + ":" + t.names().MaaSAPI()
			events := must(on.Env.Audit().Events(audit.ByUser(account), func(e *audit.Event) bool { return e.UserAgent != asker }))
			Expect(events).NotTo(BeEmpty(), account)
			own := []string{"", infra, stage.GatewayNamespace, t.namespace()}
			for _, e := range events {
				Expect(own).To(ContainElement(e.Namespace), e.String())
				Expect(e.Name).To(BeElementOf("", "cluster", v1alpha1.DatabaseSecretName, t.gateway), e.String())
				if e.Namespace == "" && e.APIGroup == v1alpha1.GroupVersion.Group {
					Expect(e.Resource).To(Equal("maasmodelrefs"), "only models are read in all namespaces: "+e.String())
				}
			}
			if !t.isDefault() { // One that is deleted has its last requests refused.
				Expect(slices.DeleteFunc(events, func(e audit.Event) bool { return e.Code != http.StatusForbidden })).To(BeEmpty())
			}
		}
	})
})

// statusOf is the status of an answer.
func statusOf(r service.Response, err error) (int, error) { return r.Status, err }

// rates are the limits of all rates of a TokenRateLimitPolicy that let something pass.
func rates(policy *unstructured.Unstructured) []int64 {
	GinkgoHelper()
	limits, _, err := unstructured.NestedMap(policy.Object, "spec", "limits")
	Expect(err).NotTo(HaveOccurred())
	var all []int64
	for _, limit := range limits {
		list, _ := limit.(map[string]any)["rates"].([]any)
		for _, rate := range list {
			if n, _ := rate.(map[string]any)["limit"].(int64); n > 0 {
				all = append(all, n)
			}
		}
	}
	return all
}
