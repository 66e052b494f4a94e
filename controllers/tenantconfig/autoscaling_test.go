// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// TestAnAutoscalerGoesBeforeTheNumberIsWritten has row E-130: it would overwrite the
// number.
func TestAnAutoscalerGoesBeforeTheNumberIsWritten(t *testing.T) {
	t.Parallel()
	const name = "payload-processing-red"
	var calls []string
	b := newBench(t, small{funcs: interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			named, ok := o.(interface {
				GetName() string
				GetKind() string
			})
			if ok && named.GetName() == name && named.GetKind() == deployments.Kind {
				calls = append(calls, "apply "+named.GetKind())
			}
			return c.Apply(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			calls = append(calls, "delete "+o.GetObjectKind().GroupVersionKind().Kind)
			return c.Delete(ctx, o, opts...)
		},
	}}, true)
	b.extend(autoscaled(3, true))
	if b.live(autoscalers, name) == nil {
		t.Fatal("there is no autoscaler")
	}
	calls = nil
	b.extend(autoscaled(3, false))
	if b.live(autoscalers, name) != nil {
		t.Error("the autoscaler is still there")
	}
	if diff := cmp.Diff([]string{"delete " + autoscalers.Kind, "apply " + deployments.Kind}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// autoscaled sets a number of Pods, by itself or as the smallest one.
func autoscaled(replicas int32, on bool) func(*v1alpha1.MaasTenantConfig) {
	return func(c *v1alpha1.MaasTenantConfig) {
		c.Spec.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Replicas: &replicas}
		if on {
			c.Spec.PayloadProcessing.Autoscaling = &v1alpha1.PayloadAutoscalingConfig{}
		}
	}
}

var _ = Describe("the number of processors", func() {
	It("stays as it is until the autoscaler changes it", func(ctx SpecContext) {
		amber := newTenant(ctx, "amber")
		r := &tenantconfig.Reconciler{
			Client: suite.direct, APIReader: suite.direct, Engine: parts.Engine(GinkgoTB()), Clock: clock.RealClock{}, Settings: tenantSettings(),
			Applier: apply.New(suite.direct, apply.Options{}), Events: events.NewFakeRecorder(100), PayloadProcessing: true,
		}
		of := tenancy.Context{Name: "amber", ID: "amber", Gateway: types.NamespacedName{Namespace: gatewayNamespace, Name: "amber"}}
		extend := func(change func(*v1alpha1.MaasTenantConfig)) {
			GinkgoHelper()
			config := amber.config()
			change(config)
			_, err := tenantconfig.Extend(ctx, r, config, of, payload.FilterCRD)
			if _, last := errors.AsType[*meta.NoKindMatchError](err); !last { // It comes last, and is of no interest.
				Expect(err).NotTo(HaveOccurred())
			}
		}
		processors := func() *appsv1.Deployment {
			GinkgoHelper()
			d := &appsv1.Deployment{}
			Expect(suite.Admin.Get(ctx, types.NamespacedName{Namespace: gatewayNamespace, Name: "payload-processing-amber"}, d)).To(Succeed())
			return d
		}
		extend(autoscaled(8, false))
		generation := processors().Generation
		extend(autoscaled(2, true))
		Expect(processors()).To(And(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(8))), HaveField("Generation", generation)))
		d := processors()
		Expect(suite.Admin.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 9},
		}))).To(Succeed())
		extend(autoscaled(2, true))
		Expect(processors().Spec.Replicas).To(HaveValue(BeEquivalentTo(9)))
		extend(autoscaled(3, false))
		Expect(processors().Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	})
})
