// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

var (
	llm   = types.NamespacedName{Namespace: "llm", Name: "my-model"}
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

const tenantNamespace = "models-as-a-service"

func input() model.Input {
	return model.Input{
		Model:  llm,
		Route:  "my-model-kserve-route",
		Tenant: tenancy.Context{Name: tenancy.DefaultName, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}},
		Settings: model.Settings{
			InfraNamespace: "odh-ai-gateway-infra", Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60,
		},
	}
}

func authPolicy(name string, users []string, groups ...string) model.AuthPolicy {
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: name}}
	p.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: llm.Namespace, Name: llm.Name}}
	p.Spec.Subjects.Users = users
	for _, g := range groups {
		p.Spec.Subjects.Groups = append(p.Spec.Subjects.Groups, v1alpha1.GroupReference{Name: g})
	}
	return model.AuthPolicy{Object: p, Tenant: tenancy.DefaultName}
}

func subscription(name string, entry v1alpha1.ModelSubscription, identity v1alpha1.RateLimitIdentity) model.Subscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: name, CreationTimestamp: metav1.NewTime(epoch)}}
	entry.Namespace, entry.Name = llm.Namespace, llm.Name
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{entry}
	s.Status.RateLimitIdentity = identity
	return model.Subscription{Object: s, Tenant: tenancy.DefaultName}
}

func short(name string, rates ...v1alpha1.TokenRateLimit) model.Subscription {
	return subscription(name, v1alpha1.ModelSubscription{TokenRateLimits: rates}, v1alpha1.RateLimitIdentityShort)
}

func legacy(name string, rates ...v1alpha1.TokenRateLimit) model.Subscription {
	return subscription(name, v1alpha1.ModelSubscription{TokenRateLimits: rates}, v1alpha1.RateLimitIdentityLegacy)
}

func unlimited(name string, identity v1alpha1.RateLimitIdentity) model.Subscription {
	return subscription(name, v1alpha1.ModelSubscription{Unlimited: true}, identity)
}

func rate(limit int64, window string) v1alpha1.TokenRateLimit {
	return v1alpha1.TokenRateLimit{Limit: limit, Window: window}
}

func build(tb testing.TB, in model.Input) model.Output {
	tb.Helper()
	out, err := model.Build(in)
	if err != nil {
		tb.Fatalf("Build() error = %v", err)
	}
	return out
}

// renderAuthPolicy returns the AuthPolicy of a model as it would be applied.
func renderAuthPolicy(t *testing.T, in model.Input) *unstructured.Unstructured {
	t.Helper()
	values := build(t, in).AuthPolicy
	if values == nil {
		t.Fatal("no AuthPolicy is wanted")
	}
	object, err := parts.Engine(t).Render(render.Request{ID: model.AuthPolicyTemplate, Namespace: values.Meta.Namespace, Name: values.Meta.Name, Values: *values})
	if err != nil {
		t.Fatalf("Render() error = %v", err)
	}
	return object
}
