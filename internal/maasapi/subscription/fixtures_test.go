// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const (
	tenant = "models-as-a-service"
	home   = "models-as-a-service"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// model is one of namespace llm with an alias.
func model(name string) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name}}
	m.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: name}
	m.Status.ResolvedModelAlias = "publishers/llm/models/" + name
	return m
}

// sub is an Active subscription of group team with two rates on each model.
func sub(name string, models ...string) *v1alpha1.MaaSSubscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name, Generation: 1}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "team"}}
	for _, m := range models {
		s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{
			Namespace: "llm", Name: m, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 100, Window: "1m"}, {Limit: 5000, Window: "24h"}},
		})
		at := v1alpha1.ResourceRefStatus{Namespace: "llm", Name: m, Ready: true}
		s.Status.TokenRateLimitStatuses = append(s.Status.TokenRateLimitStatuses, v1alpha1.TokenRateLimitStatus{ResourceRefStatus: at, Model: m})
	}
	s.Status.ObservedGeneration, s.Status.Phase, s.Status.RateLimitIdentity = 1, v1alpha1.PhaseActive, v1alpha1.RateLimitIdentityShort
	return s
}

// grant lets group team use the models.
func grant(models ...string) *v1alpha1.MaaSAuthPolicy {
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "grant"}}
	p.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: "team"}}
	for _, m := range models {
		p.Spec.ModelRefs = append(p.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: "llm", Name: m})
	}
	return p
}

// of puts objects into the facts of the tenant.
func of(objects ...any) entitlement.Facts {
	var f entitlement.Facts
	for _, object := range objects {
		switch o := object.(type) {
		case *v1alpha1.MaaSModelRef:
			f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: o, Tenant: tenant})
		case *v1alpha1.MaaSSubscription:
			f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: o, Tenant: tenant})
		case *v1alpha1.MaaSAuthPolicy:
			f.AuthPolicies = append(f.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: o, Tenant: tenant})
		default:
			panic(fmt.Sprintf("%T is no object of a tenant", object))
		}
	}
	return f
}

func snapshot(objects ...any) *subscription.Snapshot {
	return subscription.NewSnapshot(tenant, of(objects...), epoch)
}

// alice is a token caller in group team.
func alice(tb testing.TB, groups ...string) entitlement.Caller {
	tb.Helper()
	c, err := entitlement.FromToken("alice", append([]string{"team"}, groups...))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// object reads a JSON object.
func object(tb testing.TB, text []byte) map[string]any {
	tb.Helper()
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return out
}
