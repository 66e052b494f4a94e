// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// extend switches on what an installation works without, and off again, in the middle of
// a life: rights that only it needs are needed then.
func extend(ctx context.Context, t tenantOf) {
	GinkgoHelper()
	By("switching on what is left out without being asked for")
	edit(ctx, config(), func(c *v1alpha1.Config) { c.Spec.UsageLogging = true })
	collector := objectOf("opentelemetry.io/v1beta1", "OpenTelemetryCollector", testenv.OperatorNamespace, "usage-logs")
	Eventually(missing(ctx, collector)).Should(BeFalse())
	scaled := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: stage.GatewayNamespace, Name: "payload-processing-" + t.name()}}
	edit(ctx, t.config(), func(c *v1alpha1.MaasTenantConfig) {
		c.Spec.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Autoscaling: &v1alpha1.PayloadAutoscalingConfig{}}
	})
	Eventually(missing(ctx, scaled)).Should(BeFalse())

	By("publishing models of providers, of both groups")
	own, theirs := builder.ExternalModel(stage.ModelNamespace, "own"), builder.InferenceExternalModel(stage.ModelNamespace, "theirs")
	theirs.Spec.ExternalProviderRefs[0].TargetModel = "gpt-4o-mini"
	provider := &inferencev1alpha1.ExternalProvider{ObjectMeta: metav1.ObjectMeta{Namespace: stage.ModelNamespace, Name: "theirs-provider"}}
	provider.Spec.Provider, provider.Spec.Endpoint = "openai", "other.example.com"
	provider.Spec.Auth.Type, provider.Spec.Auth.SecretRef.Name = inferencev1alpha1.AuthTypeAPIKey, "theirs-key"
	create(ctx, own, provider, theirs)
	routes := []client.Object{routeOf("own"), routeOf("theirs")}
	for _, route := range routes {
		Eventually(missing(ctx, route)).Should(BeFalse())
	}
	Eventually(func() string { return read(ctx, theirs).Status.HTTPRouteName }).Should(Equal(external.Name("theirs")))
	needed = append(needed, granted(ctx)...)

	By("withdrawing all that again")
	remove(ctx, own, theirs, provider)
	for _, route := range routes {
		Eventually(missing(ctx, route)).Should(BeTrue())
	}
	edit(ctx, t.config(), func(c *v1alpha1.MaasTenantConfig) { c.Spec.PayloadProcessing = nil })
	Eventually(missing(ctx, scaled)).Should(BeTrue())
	edit(ctx, config(), func(c *v1alpha1.Config) { c.Spec.UsageLogging = false })
	Eventually(missing(ctx, collector)).Should(BeTrue())
}

func routeOf(model string) *gwapiv1.HTTPRoute {
	return &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: stage.ModelNamespace, Name: external.Name(model)}}
}

func objectOf(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
