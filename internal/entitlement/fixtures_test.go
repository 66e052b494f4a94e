// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

const (
	tenant = "models-as-a-service"
	home   = "models-as-a-service"
	llama  = "llm/llama"
	qwen   = "llm/qwen"
)

func keyOf(name string) types.NamespacedName {
	key, err := entitlement.ParseName(name)
	if err != nil {
		panic(err)
	}
	return key
}

// subscription is an Active one in the tenant's namespace with one rate on llama,
// owned by group team.
type subscription struct{ *v1alpha1.MaaSSubscription }

func sub(name string) subscription {
	s := subscription{&v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name, Generation: 1}}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "team"}}
	s.Status = v1alpha1.MaaSSubscriptionStatus{
		ObservedGeneration: 1, Phase: v1alpha1.PhaseActive, RateLimitIdentity: v1alpha1.RateLimitIdentityShort,
	}
	return s.model(llama, rate(100, "1m"))
}

func (s subscription) in(namespace string) subscription {
	s.Namespace = namespace
	return s
}

// model replaces the models by one.
func (s subscription) model(name string, rates ...v1alpha1.TokenRateLimit) subscription {
	s.Spec.ModelRefs, s.Status.ModelRefStatuses, s.Status.TokenRateLimitStatuses = nil, nil, nil
	return s.and(name, rates...)
}

// and adds a model that is in force.
func (s subscription) and(name string, rates ...v1alpha1.TokenRateLimit) subscription {
	key := keyOf(name)
	at := v1alpha1.ResourceRefStatus{Namespace: key.Namespace, Name: key.Name, Ready: true}
	s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{Namespace: key.Namespace, Name: key.Name, TokenRateLimits: rates})
	s.Status.ModelRefStatuses = append(s.Status.ModelRefStatuses, v1alpha1.ModelRefStatus{ResourceRefStatus: at})
	at.Name = "maas-trlp-" + key.Name
	s.Status.TokenRateLimitStatuses = append(s.Status.TokenRateLimitStatuses, v1alpha1.TokenRateLimitStatus{ResourceRefStatus: at, Model: key.Name})
	return s
}

func (s subscription) phase(phase v1alpha1.Phase) subscription {
	s.Status.Phase = phase
	return s
}

func (s subscription) priority(priority int32) subscription {
	s.Spec.Priority = priority
	return s
}

func (s subscription) group(group string) subscription {
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: group}}
	return s
}

func (s subscription) user(user string) subscription {
	s.Spec.Owner = v1alpha1.Owner{Users: []string{user}}
	return s
}

func (s subscription) with(change func(*v1alpha1.MaaSSubscription)) subscription {
	change(s.MaaSSubscription)
	return s
}

func (s subscription) deleting() subscription {
	s.DeletionTimestamp = &metav1.Time{}
	return s
}

func modelRef(name string) *v1alpha1.MaaSModelRef {
	key := keyOf(name)
	return &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

func grant(subjects v1alpha1.Subjects, models ...string) *v1alpha1.MaaSAuthPolicy {
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "grant"}}
	p.Spec.Subjects = subjects
	for _, model := range models {
		key := keyOf(model)
		p.Spec.ModelRefs = append(p.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: key.Namespace, Name: key.Name})
	}
	return p
}

func everybody() v1alpha1.Subjects {
	return v1alpha1.Subjects{Groups: []v1alpha1.GroupReference{{Name: entitlement.AuthenticatedGroup}}}
}

func ours[T any](object *T) entitlement.Tenanted[*T] {
	return entitlement.Tenanted[*T]{Object: object, Tenant: tenant}
}

// facts are both models, everybody allowed to use llama, and subscriptions.
func facts(subscriptions ...subscription) entitlement.Facts {
	f := entitlement.Facts{
		Models:       []entitlement.Tenanted[*v1alpha1.MaaSModelRef]{ours(modelRef(llama)), ours(modelRef(qwen))},
		AuthPolicies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(grant(everybody(), llama))},
	}
	for _, s := range subscriptions {
		f.Subscriptions = append(f.Subscriptions, ours(s.MaaSSubscription))
	}
	return f
}

func index(subscriptions ...subscription) *entitlement.Index {
	return entitlement.NewIndex(tenant, facts(subscriptions...))
}

// member is a token caller in the given groups.
func member(tb testing.TB, groups ...string) entitlement.Caller {
	tb.Helper()
	c, err := entitlement.FromToken("alice", groups)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func keyOwner(tb testing.TB, subscription string, groups ...string) entitlement.Caller {
	tb.Helper()
	c, err := entitlement.FromKey("alice", groups, subscription)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// codeOf is the code of a refusal, or what else the error is.
func codeOf(err error) entitlement.Code {
	var refusal entitlement.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	default:
		return entitlement.Code("no refusal: " + err.Error())
	}
}

func nameOf(s *v1alpha1.MaaSSubscription) string {
	if s == nil {
		return ""
	}
	return s.Namespace + "/" + s.Name
}
