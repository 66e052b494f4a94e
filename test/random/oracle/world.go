// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// world is the facts with what follows for each model.
type world struct {
	*Facts
	history History
	models  map[string]*model
}

// model is one MaaSModelRef with what follows for it.
type model struct {
	ref *v1alpha1.MaaSModelRef
	key string
	// tenant and gateway are empty when the tenant cannot be told.
	tenant, gateway string
	route           *gwapiv1.HTTPRoute
	// referred tells whether anything names the model, whosever it is.
	referred bool
	// access and entries are what counts of the model's own tenant.
	access  []*v1alpha1.MaaSAuthPolicy
	entries []entry
	// owns tells whether the model has the policies of its route.
	owns bool
	// auth and limits are the policies under the model's names.
	auth, limits *unstructured.Unstructured
}

// entry is a valid entry of a subscription for a model.
type entry struct {
	subscription *v1alpha1.MaaSSubscription
	set          rateSet
}

func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func newWorld(f *Facts, history History) *world {
	w := &world{Facts: f, history: history, models: map[string]*model{}}
	for i := range f.Models {
		if m := w.newModel(&f.Models[i]); m.ref.DeletionTimestamp == nil {
			w.models[m.key] = m
		}
	}
	for _, m := range w.models {
		m.owns = w.ownerOfRoute(m) == m
	}
	return w
}

func (w *world) newModel(ref *v1alpha1.MaaSModelRef) *model {
	m := &model{ref: ref, key: nameOf(ref)}
	m.tenant, m.gateway = w.tenantOf(ref)
	m.route = w.routeOf(m)
	m.auth = w.policy("AuthPolicy", ref.Namespace, "maas-auth-"+ref.Name)
	m.limits = w.policy("TokenRateLimitPolicy", ref.Namespace, "maas-trlp-"+ref.Name)
	for i := range w.AuthPolicies {
		p := &w.AuthPolicies[i]
		if !slices.ContainsFunc(p.Spec.ModelRefs, func(r v1alpha1.ModelReference) bool { return r.Namespace+"/"+r.Name == m.key }) {
			continue
		}
		m.referred = true
		if m.tenant != "" && w.memberOf(p.Namespace) == m.tenant {
			m.access = append(m.access, p)
		}
	}
	for i := range w.Subscriptions {
		s := &w.Subscriptions[i]
		if entryFor(s, m.key) == nil {
			continue
		}
		m.referred = true
		set, valid := termsOf(s, m.key)
		if valid && m.tenant != "" && w.memberOf(s.Namespace) == m.tenant {
			m.entries = append(m.entries, entry{subscription: s, set: set})
		}
	}
	return m
}

// termsOf is what a subscription grants on a model; false when that cannot be
// enforced, as when several entries may say different things.
func termsOf(s *v1alpha1.MaaSSubscription, key string) (rateSet, bool) {
	count := 0
	for _, r := range s.Spec.ModelRefs {
		if r.Namespace+"/"+r.Name == key {
			count++
		}
	}
	set, valid := ratesOf(entryFor(s, key))
	return set, valid && count == 1
}

// entryFor is the first entry of a subscription for a model.
func entryFor(s *v1alpha1.MaaSSubscription, key string) *v1alpha1.ModelSubscription {
	for i := range s.Spec.ModelRefs {
		if r := &s.Spec.ModelRefs[i]; r.Namespace+"/"+r.Name == key {
			return r
		}
	}
	return nil
}

func (w *world) policy(kind, namespace, name string) *unstructured.Unstructured {
	for i := range w.Policies {
		if p := &w.Policies[i]; p.GetKind() == kind && p.GetNamespace() == namespace && p.GetName() == name {
			return p
		}
	}
	return nil
}

// tenantOf is the tenant of a model and its gateway.
func (w *world) tenantOf(ref *v1alpha1.MaaSModelRef) (tenant, gateway string) {
	name := ref.Spec.TenantRef
	if name == "" {
		config, hasConfig := w.Configs[ref.Namespace]
		switch {
		case hasConfig && config.Labels["maas.opendatahub.io/managed-by-aitenant"] == "true":
			name = config.Annotations["maas.opendatahub.io/aitenant-name"]
			if config.Labels["maas.opendatahub.io/tenant-name"] == "" || namespaceOf(name) != ref.Namespace {
				return "", ""
			}
		case ref.Namespace != DefaultNamespace && labelledForTenant(w.Namespaces[ref.Namespace].Labels):
			return "", ""
		default:
			return DefaultNamespace, DefaultGateway
		}
	}
	object, exists := w.Tenants[name]
	if !exists || object.Status.GatewayRef == nil || object.Status.GatewayRef.Name == "" {
		return "", ""
	}
	return name, object.Status.GatewayRef.Namespace + "/" + object.Status.GatewayRef.Name
}

// memberOf is the tenant whose auth policies and subscriptions live in a
// namespace; empty when they count for nobody.
func (w *world) memberOf(namespace string) string {
	if namespace == DefaultNamespace {
		return DefaultNamespace
	}
	config, hasConfig := w.Configs[namespace]
	if !labelledForTenant(w.Namespaces[namespace].Labels) || !hasConfig || config.Labels["maas.opendatahub.io/managed-by-aitenant"] != "true" {
		return ""
	}
	if name := config.Labels["maas.opendatahub.io/tenant-name"]; namespaceOf(name) == namespace {
		return name
	}
	return ""
}

func namespaceOf(tenant string) string {
	if tenant == DefaultNamespace {
		return DefaultNamespace
	}
	return "ai-tenant-" + tenant
}

func labelledForTenant(labels map[string]string) bool {
	return labels["ai-gateway.opendatahub.io/tenant"] != "" || labels["maas.opendatahub.io/managed-by-aitenant"] == "true"
}

// ownerOfRoute is the model that has the policies of a model's route: one at whose
// tenant's gateway the route is before one that is astray; among those one that
// has both halves of its governance before one that has one, before one that has
// none; the first by name among those.
func (w *world) ownerOfRoute(m *model) *model {
	if m.route == nil {
		return m
	}
	const athome = 3
	rank := func(m *model) int {
		rank := min(1, len(m.access)) + min(1, len(m.entries))
		if attached(m.route, m.gateway) {
			rank += athome
		}
		return rank
	}
	owner := m
	for _, other := range w.models {
		if other.route == nil || nameOf(other.route) != nameOf(m.route) {
			continue
		}
		if rank(other) > rank(owner) || rank(other) == rank(owner) && other.ref.Name < owner.ref.Name {
			owner = other
		}
	}
	return owner
}
