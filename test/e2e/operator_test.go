// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// The sample model of config/samples.
const (
	modelNamespace  = "llm"
	modelName       = "granite"
	tenantNamespace = "models-as-a-service"
)

// idle is how long a converged cluster is watched for writes.
const idle = 60 * time.Second

// settled is how long the operator must have been quiet before that.
const settled = 5 * time.Second

// The specs share the sample model and build on each other's end state, so
// they run in this order.
var _ = Describe("The operator", Ordered, func() {
	const count = 300
	It("answers a burst of subscriptions on one model with a handful of writes", func(ctx SpecContext) {
		const writers = 8
		atRest()
		mark, begin := mark(), time.Now()
		createSubscriptions(ctx, count, writers)
		created := time.Since(begin)
		Eventually(func() (int, error) { return active(ctx) }).WithTimeout(3 * time.Minute).Should(Equal(count))
		took := time.Since(begin)
		atRest()

		policy := callsSince(mark, audit.IsWrite(), audit.Succeeded(), audit.ByResource("kuadrant.io", "tokenratelimitpolicies"))
		statuses := map[string]int{}
		for _, e := range callsSince(mark, audit.IsWrite(), audit.Succeeded(), audit.ByResource("maas.opendatahub.io", "maassubscriptions/status")) {
			statuses[e.Name]++
		}
		AddReportEntry("burst", fmt.Sprintf("%d subscriptions created in %s, all Active after %s, with %d writes of the policy",
			count, created.Round(time.Millisecond), took.Round(time.Millisecond), len(policy)))
		Expect(len(policy)).To(BeNumerically("<=", 10), "writes of the TokenRateLimitPolicy")
		Expect(statuses).To(And(HaveLen(count), HaveEach(BeNumerically("<=", 2))), "status writes of each subscription")
	})

	It("answers one more subscription with at most five calls", func(ctx SpecContext) {
		mark := mark()
		createSubscription(ctx, "burst-more")
		Eventually(func() (int, error) { return active(ctx) }).Should(Equal(count + 1))
		atRest()
		calls := callsSince(mark, audit.Not(audit.ByVerb(audit.VerbWatch)), audit.Not(audit.ByResource("coordination.k8s.io", "leases")))
		AddReportEntry("one more", fmt.Sprint(calls))
		Expect(len(calls)).To(BeNumerically("<=", 5), fmt.Sprint(calls))
	})

	It("writes nothing while nothing changes", func() {
		atRest()
		mark := mark()
		Consistently(func() []audit.Event { return callsSince(mark, audit.IsWrite()) }).WithTimeout(idle).WithPolling(time.Second).Should(BeEmpty())
	})

	It("repairs after a restart what was changed while it was away", func(ctx SpecContext) {
		devstack(ctx, "stop-controller")
		policy := kuadrant.New(kuadrant.AuthPolicy)
		key := types.NamespacedName{Namespace: modelNamespace, Name: "maas-auth-" + modelName}
		Expect(stack.admin.Get(ctx, key, policy)).To(Succeed())
		inject := []byte(`{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}}}}}`)
		Expect(stack.admin.Patch(ctx, policy, client.RawPatch(types.MergePatchType, inject))).To(Succeed())
		devstack(ctx, "start-controller")
		Eventually(func() (map[string]any, error) {
			if err := stack.admin.Get(ctx, key, policy); err != nil {
				return nil, err
			}
			rules, _, err := unstructured.NestedMap(policy.Object, "spec", "rules", "authentication")
			return rules, err
		}).Should(And(HaveKey("api-keys"), Not(HaveKey("anyone"))))
	})

	It("refuses what belongs to no tenant, and says how to mend it", func(ctx SpecContext) {
		homeless := subscription(modelNamespace, "homeless")
		Expect(stack.admin.Create(ctx, homeless)).To(MatchError(And(
			ContainSubstring("namespace llm is not enabled for MaaS tenant resources"), ContainSubstring("AITenant"))))
		orphan := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: modelNamespace, Name: "orphan"}}
		orphan.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: modelName}
		orphan.Spec.TenantRef = "nobody"
		Expect(stack.admin.Create(ctx, orphan)).To(MatchError(ContainSubstring("AITenant nobody does not exist in namespace ai-tenants")))
	})

	It("removes a model's policies with the model", func(ctx SpecContext) {
		model := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: modelNamespace, Name: modelName}}
		Expect(stack.admin.Delete(ctx, model)).To(Succeed())
		for name, kind := range map[string]schema.GroupVersionKind{"maas-auth-": kuadrant.AuthPolicy, "maas-trlp-": kuadrant.TokenRateLimitPolicy} {
			Eventually(func() error {
				return stack.admin.Get(ctx, types.NamespacedName{Namespace: modelNamespace, Name: name + modelName}, kuadrant.New(kind))
			}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"), kind.Kind)
		}
		Eventually(func() error {
			return stack.admin.Get(ctx, client.ObjectKeyFromObject(model), model)
		}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("was never refused a right", func() {
		refused, err := stack.env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden())
		Expect(err).NotTo(HaveOccurred())
		Expect(refused).To(BeEmpty())
	})
})

// mark is this instant in the audit log.
func mark() audit.Mark {
	GinkgoHelper()
	return audit.Now()
}

// callsSince are the operator's.
func callsSince(mark audit.Mark, filters ...audit.Filter) []audit.Event {
	GinkgoHelper()
	events, err := stack.env.Audit().After(mark, append(filters, audit.ByUser(testenv.OperatorUser))...)
	Expect(err).NotTo(HaveOccurred())
	return events
}

// atRest waits for the last echoes of convergence.
func atRest() {
	GinkgoHelper()
	Eventually(func() ([]audit.Event, error) {
		return stack.env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Since(time.Now().Add(-settled)))
	}).Should(BeEmpty())
}

func createSubscription(ctx SpecContext, name string) {
	GinkgoHelper()
	Expect(stack.admin.Create(ctx, &v1alpha1.MaaSSubscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: name, Labels: map[string]string{"burst": "true"}},
		Spec: v1alpha1.MaaSSubscriptionSpec{
			Owner:     v1alpha1.Owner{Groups: []v1alpha1.GroupReference{{Name: name}}},
			ModelRefs: []v1alpha1.ModelSubscription{{Namespace: modelNamespace, Name: modelName, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 50, Window: "1m"}}}},
		},
	})).To(Succeed())
}

func createSubscriptions(ctx SpecContext, count, writers int) {
	GinkgoHelper()
	names := make(chan string)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			defer GinkgoRecover()
			for name := range names {
				createSubscription(ctx, name)
			}
		})
	}
	for i := range count {
		names <- fmt.Sprintf("burst-%03d", i)
	}
	close(names)
	group.Wait()
}

// subscription grants the group of its own name tokens of the sample model.
func subscription(namespace, name string) *v1alpha1.MaaSSubscription {
	return &v1alpha1.MaaSSubscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MaaSSubscriptionSpec{
			Owner:     v1alpha1.Owner{Groups: []v1alpha1.GroupReference{{Name: name}}},
			ModelRefs: []v1alpha1.ModelSubscription{{Namespace: modelNamespace, Name: modelName, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 50, Window: "1m"}}}},
		},
	}
}

// active counts the subscriptions of the burst that are enforced.
func active(ctx SpecContext) (int, error) {
	var list v1alpha1.MaaSSubscriptionList
	if err := stack.admin.List(ctx, &list, client.InNamespace(tenantNamespace), client.MatchingLabels{"burst": "true"}); err != nil {
		return 0, err
	}
	count := 0
	for i := range list.Items {
		if list.Items[i].Status.Phase == v1alpha1.PhaseActive {
			count++
		}
	}
	return count, nil
}
