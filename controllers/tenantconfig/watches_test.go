// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/test/rig"
)

// TestStatusIsHeededOfDeploymentsOnly: that of an autoscaler changes every few seconds.
func TestStatusIsHeededOfDeploymentsOnly(t *testing.T) {
	t.Parallel()
	object := func(change ...func(map[string]any)) client.Object {
		o := map[string]any{
			"metadata": map[string]any{"name": "a", "resourceVersion": "1", "managedFields": []any{map[string]any{"manager": "b", "time": "1"}, map[string]any{"manager": "c", "subresource": "status", "time": "1"}}},
			"spec":     map[string]any{"maxReplicas": int64(2)}, "status": map[string]any{"currentReplicas": int64(1)},
		}
		for _, c := range change {
			c(o)
		}
		return &unstructured.Unstructured{Object: o}
	}
	inMetadata := func(field string, value any) func(map[string]any) {
		return func(o map[string]any) { o["metadata"].(map[string]any)[field] = value }
	}
	status := func(o map[string]any) {
		o["status"] = map[string]any{"currentReplicas": int64(2)}
		inMetadata("resourceVersion", "2")(o)
		inMetadata("managedFields", []any{map[string]any{"manager": "b", "time": "1"}, map[string]any{"manager": "c", "subresource": "status", "time": "2"}})(o)
	}
	for name, tc := range map[string]struct {
		change               func(map[string]any)
		deployment, anything bool
	}{
		"the status":         {status, true, false},
		"the spec":           {func(o map[string]any) { o["spec"] = map[string]any{"maxReplicas": int64(3)} }, true, true},
		"a label":            {inMetadata("labels", map[string]any{"a": "b"}), true, true},
		"an annotation":      {inMetadata("annotations", map[string]any{"a": "b"}), true, true},
		"the deletion":       {inMetadata("deletionTimestamp", "2030-01-01T00:00:00Z"), true, true},
		"a field's owner":    {inMetadata("managedFields", []any{}), true, true},
		"what has no spec":   {func(o map[string]any) { o["data"] = map[string]any{"a": "b"} }, true, true},
		"it is read anew":    {func(map[string]any) {}, true, false},
		"the status is gone": {func(o map[string]any) { delete(o, "status") }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tenantconfig.Heeded(deployments.GroupKind())(object(), object(tc.change)); got != tc.deployment {
				t.Errorf("of a Deployment: %t, want %t", got, tc.deployment)
			}
			if got := tenantconfig.Heeded(autoscalers.GroupKind())(object(), object(tc.change)); got != tc.anything {
				t.Errorf("of an autoscaler: %t, want %t", got, tc.anything)
			}
		})
	}
}

var _ = Describe("the namespace for monitoring", Ordered, func() {
	const name = "monitoring-later"
	var maroon tenantOf
	usageLogging := func(ctx context.Context, on bool) {
		GinkgoHelper()
		config := &v1alpha1.Config{}
		Expect(suite.Admin.Get(ctx, types.NamespacedName{Name: v1alpha1.ConfigName}, config)).To(Succeed())
		before := config.DeepCopy()
		config.Spec.UsageLogging = on
		Expect(suite.Admin.Patch(ctx, config, client.MergeFrom(before))).To(Succeed())
	}
	said := func() bool {
		return meta.FindStatusCondition(maroon.config().Status.Conditions, string(v1alpha1.ConditionUsageLogsReady)) != nil
	}
	BeforeAll(func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		usageLogging(ctx, true)
		DeferCleanup(func(ctx SpecContext) { usageLogging(ctx, false) })
		settings := tenantSettings()
		settings.MonitoringNamespace = name
		suite.Operate(ctx, rig.Manager{SetUp: setUpWith(settings), Written: written()})
		maroon = newTenant(ctx, "maroon")
		Eventually(maroon.state).Should(Equal(works))
		Expect(said()).To(BeFalse(), "there is nowhere to log to")
	})

	It("is noticed when it comes and when it goes", func(ctx SpecContext) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(suite.Admin.Create(ctx, namespace)).To(Succeed())
		Eventually(said).Should(BeTrue())
		Expect(suite.Admin.Delete(ctx, namespace)).To(Succeed())
		Eventually(said).Should(BeFalse())
	})
})
