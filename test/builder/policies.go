// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Key is the key of an object in a namespace.
func Key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// SubscriptionBuilder makes a MaaSSubscription.
type SubscriptionBuilder struct{ object v1alpha1.MaaSSubscription }

// Subscription is owned by the group "engineers" and names no model yet.
func Subscription(namespace, name string) *SubscriptionBuilder {
	b := &SubscriptionBuilder{}
	b.object.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	b.object.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	return b
}

// Limit adds a model with one rate; the window is such as "1m".
func (b *SubscriptionBuilder) Limit(model types.NamespacedName, limit int64, window string) *SubscriptionBuilder {
	return b.Rates(model, v1alpha1.TokenRateLimit{Limit: limit, Window: window})
}

// Rates adds a model with several rates.
func (b *SubscriptionBuilder) Rates(model types.NamespacedName, rates ...v1alpha1.TokenRateLimit) *SubscriptionBuilder {
	b.object.Spec.ModelRefs = append(b.object.Spec.ModelRefs,
		v1alpha1.ModelSubscription{Namespace: model.Namespace, Name: model.Name, TokenRateLimits: rates})
	return b
}

// Unlimited adds a model without any limit.
func (b *SubscriptionBuilder) Unlimited(model types.NamespacedName) *SubscriptionBuilder {
	b.object.Spec.ModelRefs = append(b.object.Spec.ModelRefs,
		v1alpha1.ModelSubscription{Namespace: model.Namespace, Name: model.Name, Unlimited: true})
	return b
}

// Owners replaces the owners by groups and users.
func (b *SubscriptionBuilder) Owners(groups, users []string) *SubscriptionBuilder {
	b.object.Spec.Owner = v1alpha1.Owner{Groups: references(groups), Users: users}
	return b
}

// Priority sets the priority.
func (b *SubscriptionBuilder) Priority(priority int32) *SubscriptionBuilder {
	b.object.Spec.Priority = priority
	return b
}

// Labels sets the labels.
func (b *SubscriptionBuilder) Labels(labels map[string]string) *SubscriptionBuilder {
	b.object.Labels = labels
	return b
}

// Obj is the object; the builder can go on making others.
func (b *SubscriptionBuilder) Obj() *v1alpha1.MaaSSubscription { return b.object.DeepCopy() }

// AuthPolicyBuilder makes a MaaSAuthPolicy.
type AuthPolicyBuilder struct{ object v1alpha1.MaaSAuthPolicy }

// AuthPolicy lets the group "engineers" call the models.
func AuthPolicy(namespace, name string, models ...types.NamespacedName) *AuthPolicyBuilder {
	b := &AuthPolicyBuilder{}
	b.object.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	for _, m := range models {
		b.object.Spec.ModelRefs = append(b.object.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: m.Namespace, Name: m.Name})
	}
	return b.Subjects([]string{"engineers"}, nil)
}

// Subjects replaces the subjects by groups and users.
func (b *AuthPolicyBuilder) Subjects(groups, users []string) *AuthPolicyBuilder {
	b.object.Spec.Subjects = v1alpha1.Subjects{Groups: references(groups), Users: users}
	return b
}

// Labels sets the labels.
func (b *AuthPolicyBuilder) Labels(labels map[string]string) *AuthPolicyBuilder {
	b.object.Labels = labels
	return b
}

// Obj is the object; the builder can go on making others.
func (b *AuthPolicyBuilder) Obj() *v1alpha1.MaaSAuthPolicy { return b.object.DeepCopy() }

func references(names []string) []v1alpha1.GroupReference {
	var out []v1alpha1.GroupReference
	for _, name := range names {
		out = append(out, v1alpha1.GroupReference{Name: name})
	}
	return out
}
