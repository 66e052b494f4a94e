// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/test/bench/load"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// refsEach is how many models a subscription has, and modelsEach how many
	// subscriptions there are for one model.
	refsEach, modelsEach = 5, 5
	// groupsEach is how many groups a caller is in.
	groupsEach = 10

	validatePath = "/internal/v1/api-keys/validate"
	selectPath   = "/internal/v1/subscriptions/select"
)

func subscriptionName(i int) string { return fmt.Sprintf("sub-%04d", i) }
func teamName(i int) string         { return fmt.Sprintf("team-%04d", i) }

// modelOf is one of the models of a subscription.
func modelOf(subscription, ref int) types.NamespacedName {
	const most = 1 << 20
	return builder.Key(service.ModelNamespace, fmt.Sprintf("model-%04d", (subscription/modelsEach*refsEach+ref)%most))
}

// publish creates the subscriptions from first to below last, with their models and
// as many auth policies, as the operator leaves them.
func (s *serving) publish(ctx context.Context, first, last int) error {
	s.say("creating subscriptions up to %d", last)
	var group errgroup.Group
	group.SetLimit(s.options.Writers)
	for i := first; i < last; i++ {
		group.Go(func() error {
			b := builder.Subscription(service.Tenant, subscriptionName(i)).Owners([]string{teamName(i)}, nil)
			var models []types.NamespacedName
			for ref := range refsEach {
				model := modelOf(i, ref)
				models = append(models, model)
				b.Rates(model, v1alpha1.TokenRateLimit{Limit: 1000, Window: "1m"}, v1alpha1.TokenRateLimit{Limit: 500000, Window: "24h"})
				if i%modelsEach != 0 {
					continue
				}
				if err := s.stage.Publish(ctx, service.ReadyModel(model.Namespace, model.Name).Obj()); err != nil {
					return err
				}
			}
			return s.stage.Publish(ctx, b.Phase(v1alpha1.PhaseActive).Obj(),
				builder.AuthPolicy(service.Tenant, subscriptionName(i), models...).Subjects([]string{teamName(i)}, nil).Obj())
		})
	}
	return group.Wait()
}

// validation asks about a stored key.
func (s *serving) validation(key int) load.Request {
	return load.Request{
		Path: validatePath, Body: []byte(`{"key":"` + s.ring.Text(key) + `"}`), Status: http.StatusOK, Text: []byte(`"valid":true`),
	}
}

// malformed is as long as a validation, but has no key: it is read, decoded and
// refused on the same route.
func (s *serving) malformed(key int) load.Request {
	return load.Request{
		Path: validatePath, Body: []byte(`{"kex":"` + s.ring.Text(key) + `"}`), Status: http.StatusBadRequest, Text: []byte("key is required"),
	}
}

// selections are requests of callers who own one subscription each, for each of its
// models. Wished ones name the subscription, as those of callers with a key do; the
// others leave it to their groups.
func selections(subscriptions int, wished bool) ([]load.Request, error) {
	var out []load.Request
	for i := range subscriptions {
		body := struct {
			Groups       []string `json:"groups"`
			Username     string   `json:"username"`
			Subscription string   `json:"requestedSubscription"`
			Model        string   `json:"requestedModel"`
		}{Groups: []string{entitlement.AuthenticatedGroup}, Username: fmt.Sprintf("user-%04d@example.com", i)}
		for g := range groupsEach - 2 {
			body.Groups = append(body.Groups, fmt.Sprintf("department-%d", g))
		}
		body.Groups = append(body.Groups, teamName(i))
		if wished {
			body.Subscription = subscriptionName(i)
		}
		for ref := range refsEach {
			body.Model = modelOf(i, ref).String()
			text, err := json.Marshal(body)
			if err != nil {
				return nil, fmt.Errorf("encode request: %w", err)
			}
			out = append(out, load.Request{Path: selectPath, Body: text, Status: http.StatusOK, Text: []byte(`"accessAllowed":true`)})
		}
	}
	return out, nil
}
