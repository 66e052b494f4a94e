// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"slices"

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

// Annotate sets the annotations.
func (b *SubscriptionBuilder) Annotate(annotations map[string]string) *SubscriptionBuilder {
	b.object.Annotations = annotations
	return b
}

// Metadata says to whom the usage is attributed.
func (b *SubscriptionBuilder) Metadata(metadata v1alpha1.TokenMetadata) *SubscriptionBuilder {
	b.object.Spec.TokenMetadata = &metadata
	return b
}

// Price sets the price of the model added last.
func (b *SubscriptionBuilder) Price(perToken string) *SubscriptionBuilder {
	b.object.Spec.ModelRefs[len(b.object.Spec.ModelRefs)-1].BillingRate = &v1alpha1.BillingRate{PerToken: perToken}
	return b
}

// Phase sets the status as the operator would in that phase, for a test in which
// it does not run: of an Active or Degraded subscription every model's limits are
// in force but those of the unready ones, named <namespace>/<name>.
func (b *SubscriptionBuilder) Phase(phase v1alpha1.Phase, unready ...string) *SubscriptionBuilder {
	works := phase == v1alpha1.PhaseActive || phase == v1alpha1.PhaseDegraded
	status := v1alpha1.MaaSSubscriptionStatus{
		Phase: phase, ObservedGeneration: 1, RateLimitIdentity: v1alpha1.RateLimitIdentityShort,
		Conditions: []metav1.Condition{readyCondition(phase == v1alpha1.PhaseActive)},
	}
	for _, m := range b.object.Spec.ModelRefs {
		ref := v1alpha1.ResourceRefStatus{
			Namespace: m.Namespace, Name: m.Name, Ready: works && !slices.Contains(unready, m.Namespace+"/"+m.Name),
		}
		limits := ref
		limits.Name = "maas-trlp-" + m.Name
		ref.Ready = true
		status.ModelRefStatuses = append(status.ModelRefStatuses, v1alpha1.ModelRefStatus{ResourceRefStatus: ref})
		status.TokenRateLimitStatuses = append(status.TokenRateLimitStatuses,
			v1alpha1.TokenRateLimitStatus{ResourceRefStatus: limits, Model: m.Name})
	}
	b.object.Status = status
	return b
}

func readyCondition(ready bool) metav1.Condition {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: string(v1alpha1.ConditionReady), Status: status, Reason: "Evaluated", ObservedGeneration: 1,
		LastTransitionTime: metav1.Now(),
	}
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
