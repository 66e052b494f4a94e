// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// creators is the number of models that are created at a time.
const creators = 8

// servedBelow are the paths that the route of a model has below the model's own, as
// KServe makes it.
func servedBelow() []string { return []string{"", "/v1/completions", "/v1/chat/completions"} }

func nameOf(number int) string { return fmt.Sprintf("model-%03d", number) }

// namesOf are the names of the first models.
func namesOf(count int) []string {
	var names []string
	for i := range count {
		names = append(names, nameOf(i))
	}
	return names
}

// publish creates models with what governs them: each has an auth policy and a
// subscription of its own.
func (on *installation) publish(ctx context.Context, names ...string) {
	GinkgoHelper()
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(creators)
	for _, name := range names {
		work.Go(func() error {
			for _, object := range governed(name) {
				if err := on.Admin.Create(within, object); err != nil {
					return fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), err)
				}
			}
			return nil
		})
	}
	Expect(work.Wait()).To(Succeed())
}

// governed is a model and what governs it.
func governed(name string) []client.Object {
	key := builder.Key(stage.ModelNamespace, name)
	route := builder.Route(key.Namespace, key.Name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname)
	for _, below := range servedBelow()[:*paths] {
		route = route.Path("/" + key.String() + below)
	}
	return []client.Object{
		route.Obj(),
		builder.ModelServer(key.Namespace, key.Name),
		builder.ModelRef(key.Namespace, key.Name).Obj(),
		builder.AuthPolicy(stage.TenantNamespace, name, key).Subjects([]string{"users-of-" + name}, []string{"alice"}).Obj(),
		subscription(name),
	}
}

// subscription has limits in two windows.
func subscription(name string) *v1alpha1.MaaSSubscription {
	return builder.Subscription(stage.TenantNamespace, name).Owners([]string{"users-of-" + name}, []string{"alice"}).
		Rates(builder.Key(stage.ModelNamespace, name), v1alpha1.TokenRateLimit{Limit: 1000, Window: "1m"}, v1alpha1.TokenRateLimit{Limit: 100000, Window: "24h"}).Obj()
}

// raise gives a subscription more of its first limit.
func (on *installation) raise(ctx context.Context, name string, limit int64) {
	GinkgoHelper()
	live := subscription(name)
	Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
	before := live.DeepCopy()
	live.Spec.ModelRefs[0].TokenRateLimits[0].Limit = limit
	Expect(on.Admin.Patch(ctx, live, client.MergeFrom(before))).To(Succeed())
}
