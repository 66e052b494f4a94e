// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// What Kuadrant generates for the limiter and the gateway.
var (
	limitadorKind   = schema.GroupVersionKind{Group: "limitador.kuadrant.io", Version: "v1alpha1", Kind: "Limitador"}
	envoyFilterKind = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
)

// denyLimit is the limit of a Gateway that lets nothing pass, as Kuadrant writes it.
const denyLimit = "deny_all_by_default"

// removeGatewayLimits deletes the limits of the Gateway itself, and returns when the
// gateway does without.
func removeGatewayLimits(ctx context.Context) (back func(context.Context)) {
	GinkgoHelper()
	key := fixture.Default.Tenant.GatewayLimits()
	policy := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	Expect(on.Admin.Get(ctx, key, policy)).To(Succeed())
	before := denials(generated(ctx, limitadorKind, limitador()))
	Expect(on.Admin.Delete(ctx, policy)).To(Succeed())
	awaitConfigured(ctx, func(count int) bool { return count < before })
	return func(ctx context.Context) {
		GinkgoHelper()
		again := kuadrant.New(kuadrant.TokenRateLimitPolicy)
		again.SetNamespace(key.Namespace)
		again.SetName(key.Name)
		again.SetLabels(policy.GetLabels())
		again.Object["spec"] = policy.Object["spec"]
		Expect(on.Admin.Create(ctx, again)).To(Succeed())
		awaitConfigured(ctx, func(count int) bool { return count == before })
	}
}

func limitador() types.NamespacedName { return builder.Key(engines.KuadrantNamespace, "limitador") }

// generated reads an object.
func generated(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	o := kuadrant.New(kind)
	Expect(on.Admin.Get(ctx, key, o)).To(Succeed())
	return o
}

// denials is the number of limits that let nothing pass.
func denials(limits *unstructured.Unstructured) int {
	return strings.Count(fmt.Sprint(limits.Object["spec"]), denyLimit)
}

// awaitConfigured waits until there are so many of those limits, and the gateway has
// read what there is.
func awaitConfigured(ctx context.Context, wanted func(int) bool) {
	GinkgoHelper()
	tenant := fixture.Default.Tenant
	Expect(world.Eventually(ctx, "the limits of the Gateway", func(ctx context.Context) error {
		limits := kuadrant.New(limitadorKind)
		if err := on.Admin.Get(ctx, limitador(), limits); err != nil {
			return err
		}
		filter := kuadrant.New(envoyFilterKind)
		if err := on.Admin.Get(ctx, builder.Key(tenant.Gateway.Namespace, "kuadrant-"+tenant.Gateway.Name), filter); err != nil {
			return err
		}
		has, err := tenant.Configuration(ctx)
		if err != nil {
			return err
		}
		if count := denials(limits); !wanted(count) || has.Limitador != limits.GetResourceVersion() || has.EnvoyFilter != filter.GetResourceVersion() {
			return fmt.Errorf("%d limits let nothing pass; the gateway has read %+v", count, has)
		}
		return nil
	})).To(Succeed())
}
