// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Settings are what the manager was started with.
type Settings struct {
	// InfraNamespace is where maas-api runs.
	InfraNamespace string
	// Audience is the token audience of the cluster.
	Audience string
	// MetadataCacheTTL and AuthorizationCacheTTL are in seconds. The selection
	// is an authorization decision, so the smaller of both bounds it.
	MetadataCacheTTL, AuthorizationCacheTTL int64
}

// Input is everything the policies of one model depend on.
type Input struct {
	// Model is the MaaSModelRef's key.
	Model types.NamespacedName
	// Route is the name of the model's HTTPRoute, in the model's namespace.
	Route string
	// Tenant is the one tenant the model belongs to.
	Tenant tenancy.Context
	// AcceptKeyHeader allows API keys in x-api-key, for models that speak the
	// messages format.
	AcceptKeyHeader bool
	// External tells that a provider outside of the cluster serves the model: what its
	// callers prove who they are by goes no further than the gateway.
	External bool
	// AuthPolicies and Subscriptions are those that refer to the model.
	AuthPolicies  []AuthPolicy
	Subscriptions []Subscription
	// Live is what the cluster holds now.
	Live Live
	// Settings are the manager's.
	Settings Settings
}

// AuthPolicy is a MaaSAuthPolicy with the tenant of its namespace; an empty
// tenant means that the namespace belongs to none.
type AuthPolicy struct {
	Object *v1alpha1.MaaSAuthPolicy
	Tenant string
}

// Subscription is a MaaSSubscription with the tenant of its namespace.
type Subscription struct {
	Object *v1alpha1.MaaSSubscription
	Tenant string
}

// Live is the part of the generated TokenRateLimitPolicy in the cluster that
// decisions must respect.
type Live struct {
	// Limits are its limits.
	Limits []kuadrant.Limit
	// Subscriptions is its list of contributors.
	Subscriptions string
}

// LiveOf reads a generated TokenRateLimitPolicy; nil when there is none.
func LiveOf(policy *unstructured.Unstructured) Live {
	if policy == nil {
		return Live{}
	}
	return Live{Limits: kuadrant.Limits(policy), Subscriptions: policy.GetAnnotations()[v1alpha1.AnnotationSubscriptions]}
}

// ShowsLegacy tells whether the policy is evidence that an earlier release knew
// the subscription: it is listed, and not by the short id that only this
// release writes.
func (l Live) ShowsLegacy(subscription, model types.NamespacedName) bool {
	id := entitlement.ShortID(entitlement.ModelScopedKey(subscription, model))
	return entitlement.Listed(l.Subscriptions, subscription) && !l.holds(id)
}

// holds tells whether the policy has a clause with the identifier.
func (l Live) holds(id string) bool {
	return slices.ContainsFunc(l.Limits, func(limit kuadrant.Limit) bool { return strings.Contains(limit.Predicate, id) })
}

// has tells whether the policy has a limit of the given name.
func (l Live) has(name string) bool {
	return slices.ContainsFunc(l.Limits, func(limit kuadrant.Limit) bool { return limit.Name == name })
}

// Output is what should exist. A nil policy is not wanted.
type Output struct {
	AuthPolicy           *values.ModelAuthPolicy
	TokenRateLimitPolicy *values.ModelTokenRateLimitPolicy
	// AuthPolicyHeld says why the AuthPolicy in the cluster, if any, has to stay as
	// it is although AuthPolicy is nil; otherwise nil. It is an
	// [apperr.UserError].
	AuthPolicyHeld error
	// SubjectsInlined is false when the subjects exceed the policy's bound and
	// only the selection callback decides who may call.
	SubjectsInlined bool
	// Overflow are subscriptions that no longer fit into their limit.
	Overflow []types.NamespacedName
	// Sizes are what the policies weigh.
	Sizes Sizes
}

// Build computes the policies of a model.
func Build(in Input) (Output, error) {
	out := Output{SubjectsInlined: true}
	limited, err := out.buildTokenRateLimitPolicy(in)
	if err != nil {
		return Output{}, fmt.Errorf("compute TokenRateLimitPolicy of model %s: %w", in.Model, err)
	}
	if err := out.buildAuthPolicy(in, edition(limited)); err != nil {
		return Output{}, fmt.Errorf("compute AuthPolicy of model %s: %w", in.Model, err)
	}
	return out, nil
}

func (out *Output) buildAuthPolicy(in Input, edition string) error {
	var accepted []*v1alpha1.MaaSAuthPolicy
	for _, p := range in.AuthPolicies {
		if p.Object.DeletionTimestamp == nil && AdmitTenant(in.Tenant, p.Tenant) == nil {
			accepted = append(accepted, p.Object)
		}
	}
	if len(accepted) == 0 {
		return nil
	}
	if in.Tenant.OIDCProblem != nil {
		// Without its provider the tenant's callers would be refused, and their JWTs
		// handed to TokenReview.
		out.AuthPolicyHeld = in.Tenant.OIDCProblem
		return nil //nolint:nilerr // The problem is a fact of the output, not a failure to compute it.
	}
	model, err := celtext.String(in.Model.String())
	if err != nil {
		return fmt.Errorf("quote model: %w", err)
	}
	r := request{credentials: callerid.Credentials{AcceptKeyHeader: in.AcceptKeyHeader}, model: model, edition: edition}
	subjects := unionSubjects(accepted)
	out.Sizes.Subjects, out.Sizes.SubjectBytes = subjects.count(), subjects.bytes()
	allowed := ""
	if out.SubjectsInlined = subjects.fits(); out.SubjectsInlined {
		if allowed, err = subjectRule(subjects); err != nil {
			return err
		}
	}
	policy := r.policy(in)
	policy.Meta.Annotations = map[string]string{
		v1alpha1.AnnotationAuthPolicies:          contributors(keysOf(accepted)),
		v1alpha1.AnnotationAuthPolicyGenerations: generations(accepted),
	}
	if policy.Rules, err = r.authorizationRules(allowed, in.Tenant.OIDC); err != nil {
		return err
	}
	out.AuthPolicy = &policy
	return nil
}

// policy writes what does not depend on the contributors.
func (r request) policy(in Input) values.ModelAuthPolicy {
	api := in.Tenant.MaaSAPIURL(in.Settings.InfraNamespace)
	policy := values.ModelAuthPolicy{
		Meta: values.Meta{
			Name:      AuthPolicyName(in.Model.Name),
			Namespace: in.Model.Namespace,
			Labels:    labels(in.Model, v1alpha1.PartOfAuthPolicy, v1alpha1.ComponentAuthPolicy),
		},
		Target:    values.RouteTarget{Name: in.Route},
		Audiences: []string{in.Settings.Audience},
		Validate:  callerid.Validate(api, in.Settings.MetadataCacheTTL),
		Select: values.Callback{
			URL: api + "/internal/v1/subscriptions/select", When: callerid.Named(), Body: r.selectBody(),
			CacheKey:        r.selectCacheKey(),
			CacheTTLSeconds: min(in.Settings.MetadataCacheTTL, in.Settings.AuthorizationCacheTTL),
		},
		Credentials: values.CredentialExpressions{Token: r.credentials.SendsToken()},
		Identity:    r.identityProperties(),
		Headers:     callerid.Headers(selectText("name")),
		Denied:      denied(),
	}
	if in.AcceptKeyHeader {
		policy.KeyHeader = []values.KeyHeader{{When: callerid.HeaderKey()}}
	}
	if in.External {
		policy.Headers = append(r.credentials.Blanked(), policy.Headers...)
	}
	if oidc := in.Tenant.OIDC; oidc != nil {
		policy.OIDC = []values.OIDCProvider{{IssuerURL: oidc.IssuerURL, TTLSeconds: oidc.TTLSeconds, When: r.credentials.SendsJWT()}}
	}
	return policy
}

// buildTokenRateLimitPolicy returns the members that have a limit.
func (out *Output) buildTokenRateLimitPolicy(in Input) ([]types.NamespacedName, error) {
	members := in.members()
	written, sizes, overflow, err := limits(members, in.Live)
	if err != nil {
		return nil, err
	}
	out.Overflow = memberKeys(overflow)
	out.Sizes.Limits, out.Sizes.LimitBytes, out.Sizes.LeftOut = sizes.Limits, sizes.LimitBytes, sizes.LeftOut
	if len(written) == 0 {
		return nil, nil
	}
	limited := sets.New(memberKeys(members)...).Delete(out.Overflow...).UnsortedList()
	annotations := map[string]string{}
	if len(overflow) > 0 {
		annotations[v1alpha1.AnnotationExcludedSubscriptions] = contributors(out.Overflow)
	}
	annotations[v1alpha1.AnnotationSubscriptions] = contributors(limited)
	out.TokenRateLimitPolicy = &values.ModelTokenRateLimitPolicy{
		Meta: values.Meta{
			Name:        TokenRateLimitPolicyName(in.Model.Name),
			Namespace:   in.Model.Namespace,
			Labels:      labels(in.Model, v1alpha1.PartOfSubscription, v1alpha1.ComponentTokenRateLimitPolicy),
			Annotations: annotations,
		},
		Target: values.RouteTarget{Name: in.Route},
		Limits: written,
		Nobody: callerid.Nobody,
	}
	return limited, nil
}

// edition names the set of subscriptions that have a limit. It is part of the key
// under which the gateway remembers selections: a subscription that leaves would
// otherwise go on being selected from memory, and match no limit.
func edition(limited []types.NamespacedName) string {
	names := make([]string, 0, len(limited))
	for _, key := range limited {
		names = append(names, key.String())
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, ",")))
	return hex.EncodeToString(sum[:8])
}

// members are the subscriptions that get a limit.
func (in Input) members() []member {
	members := make([]member, 0, len(in.Subscriptions))
	for _, s := range in.Subscriptions {
		if s.Object.DeletionTimestamp != nil || AdmitTenant(in.Tenant, s.Tenant) != nil {
			continue
		}
		set, err := AdmitRates(s.Object, in.Model)
		if err != nil {
			continue // The subscription's own status says so; select refuses its callers.
		}
		key := types.NamespacedName{Namespace: s.Object.Namespace, Name: s.Object.Name}
		// Whether the policy lists it is a long search, and matters only while the identity is open.
		listed := s.Object.Status.RateLimitIdentity == "" && in.Live.ShowsLegacy(key, in.Model)
		identity := entitlement.DecideIdentity(s.Object, listed)
		m := memberOf(s.Object, in.Model, set, identity)
		if identity == v1alpha1.RateLimitIdentityShort && s.Object.Status.RateLimitIdentity == "" && !in.Live.holds(m.id) {
			// Decided in its first status write, which comes before its first limit. One
			// that was created again under its name has its limit already, and keeps it.
			continue
		}
		members = append(members, m)
	}
	return members
}
