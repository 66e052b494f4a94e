// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

// Settings are what the manager was started with.
type Settings struct {
	// Gateway is the default tenant's gateway.
	Gateway types.NamespacedName
	// DefaultNamespace is the default tenant's namespace.
	DefaultNamespace string
	// AITenantNamespace is where AITenants live.
	AITenantNamespace string
	// Discovery allows tenant namespaces beside the default one.
	Discovery bool
}

// Namespace is what is known of a namespace. Absent objects are nil.
type Namespace struct {
	// Name is the namespace's name.
	Name string
	// Labels are the Namespace object's labels.
	Labels map[string]string
	// Config is MaasTenantConfig/default-tenant of the namespace.
	Config *v1alpha1.MaasTenantConfig
	// Legacy is Tenant/default-tenant of the namespace. It counts only without a
	// config; beside one that no AITenant manages its provider is a problem.
	Legacy *v1alpha1.Tenant
	// Owner is the AITenant the config names as its owner.
	Owner *v1alpha1.AITenant
}

// problem says why a tenant cannot be told. It is the user's, or the tenant's
// controller's, to resolve.
func problem(format string, args ...any) error {
	return apperr.Userf(v1alpha1.ReasonTenantNotReady, format, args...)
}

// Member tells whether subscriptions and auth policies of a namespace count:
// it is the default tenant's, or discovery is on and it carries a tenant label.
func (s Settings) Member(name string, labels map[string]string) bool {
	if name == s.DefaultNamespace {
		return true
	}
	return s.Discovery && (labels[v1alpha1.LabelTenant] != "" || labels[v1alpha1.LabelManagedByAITenant] == "true")
}

// OfNamespace returns the tenant of a namespace. One without a tenant label is a
// plain namespace of the default tenant. One with the label needs a config that
// its AITenant manages: it fails closed rather than borrow the default gateway.
func (s Settings) OfNamespace(n Namespace) (Context, error) {
	switch {
	case n.Config != nil && n.Config.Labels[v1alpha1.LabelManagedByAITenant] == "true":
		return s.managed(n)
	case n.Name != s.DefaultNamespace && s.Member(n.Name, n.Labels):
		return Context{}, unconfigured(n)
	case n.Name == s.DefaultNamespace && n.Config == nil && n.Legacy != nil:
		return s.legacy(n.Legacy)
	default:
		c := s.defaults()
		c.OIDC, c.OIDCProblem = s.OIDC(n)
		return c, nil
	}
}

// OIDC returns the provider of the tenant in whose namespace we are, or why
// there is none although the tenant may ask for one. Unlike
// [Settings.OfNamespace] it needs no gateway: a plain namespace, whose models are
// the default tenant's, has that tenant's provider and not its gateway.
func (s Settings) OIDC(n Namespace) (*OIDC, error) {
	managed := n.Config != nil && n.Config.Labels[v1alpha1.LabelManagedByAITenant] == "true"
	switch {
	case managed:
		owner, err := s.owner(n)
		if err != nil {
			return nil, err
		}
		return oidcOf(owner)
	case n.Name != s.DefaultNamespace || n.Legacy == nil || n.Legacy.Spec.ExternalOIDC == nil:
		return nil, nil //nolint:nilnil // A tenant without a provider is the rule.
	case n.Config != nil:
		return nil, ignoredOIDC(n)
	default:
		return legacyOIDC(n.Legacy)
	}
}

// OfTenant returns the context of an AITenant named by a model's tenantRef.
func (s Settings) OfTenant(t *v1alpha1.AITenant) (Context, error) {
	ref := t.Status.GatewayRef
	if ref == nil || ref.Name == "" || ref.Namespace == "" {
		return Context{}, problem("AITenant %s has no gateway in its status yet.", t.Name)
	}
	c := Context{Name: t.Name, ID: t.Name, Gateway: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
	if t.Name == DefaultName || t.Name == s.DefaultNamespace {
		c.Name, c.ID = DefaultName, ""
	}
	c.OIDC, c.OIDCProblem = oidcOf(t)
	return c, nil
}

func (s Settings) defaults() Context { return Context{Name: DefaultName, Gateway: s.Gateway} }

// NameOf returns the name of the tenant whose subscriptions and auth policies
// live in the namespace, or "" when they count for nobody.
func (s Settings) NameOf(n Namespace) string {
	name, err := s.Enabled(n)
	if err != nil {
		return ""
	}
	return name
}

// Enabled is [Settings.NameOf] that says why the objects would count for nobody,
// as an [apperr.UserError]. Unlike [Settings.OfNamespace] it needs neither the
// AITenant nor a gateway, so a tenant that is not ready keeps its members.
func (s Settings) Enabled(n Namespace) (string, error) {
	switch {
	case !s.Member(n.Name, n.Labels):
		return "", s.outside(n)
	case n.Config != nil && n.Config.Labels[v1alpha1.LabelManagedByAITenant] == "true":
		return s.managedName(n)
	case n.Name == s.DefaultNamespace:
		return DefaultName, nil
	default:
		return "", unconfigured(n)
	}
}

// outside says why a namespace is no tenant's.
func (s Settings) outside(n Namespace) error {
	if !s.Discovery {
		return problem("This operator serves the namespace %s only: create the object there, or start maas-controller with --enable-tenant-namespace-discovery.", s.DefaultNamespace)
	}
	return problem("Namespace %s lacks the label %s: create the object in namespace %s, or in the namespace of an AITenant of namespace %s, which gets the label and a MaasTenantConfig %s.",
		n.Name, v1alpha1.LabelTenant, s.DefaultNamespace, s.AITenantNamespace, v1alpha1.DefaultTenantConfigName)
}

// unconfigured says what a namespace with a tenant label lacks.
func unconfigured(n Namespace) error {
	return problem("Namespace %s is labelled for a tenant but holds no MaasTenantConfig %s that an AITenant manages: wait for its AITenant, or remove the label.", n.Name, v1alpha1.DefaultTenantConfigName)
}

// TenantNamespace is where a tenant's subscriptions and auth policies live.
func (s Settings) TenantNamespace(tenant string) string {
	if tenant == DefaultName || tenant == s.DefaultNamespace {
		return s.DefaultNamespace
	}
	return "ai-tenant-" + tenant
}

// managedName reads the tenant off a config. The namespace has to be the
// tenant's own: whoever may edit a config cannot make its namespace a member
// of another tenant.
func (s Settings) managedName(n Namespace) (string, error) {
	name := n.Config.Labels[v1alpha1.LabelTenantName]
	switch {
	case name == "":
		return "", problem("MaasTenantConfig %s/%s lacks the label %s: its AITenant sets it.", n.Name, n.Config.Name, v1alpha1.LabelTenantName)
	case s.TenantNamespace(name) != n.Name:
		return "", problem("MaasTenantConfig %s/%s claims tenant %s, whose namespace is %s: use that namespace, or delete the MaasTenantConfig.", n.Name, n.Config.Name, name, s.TenantNamespace(name))
	default:
		return name, nil
	}
}

func (s Settings) managed(n Namespace) (Context, error) {
	owner, err := s.owner(n)
	if err != nil {
		return Context{}, err
	}
	return s.OfTenant(owner)
}

// owner is the AITenant that manages the namespace's config.
func (s Settings) owner(n Namespace) (*v1alpha1.AITenant, error) {
	if _, err := s.managedName(n); err != nil {
		return nil, err
	}
	if n.Owner == nil || n.Owner.Namespace != s.AITenantNamespace || n.Owner.Name != n.Config.Annotations[v1alpha1.AnnotationAITenantName] {
		return nil, problem("The AITenant that owns MaasTenantConfig %s/%s does not exist in namespace %s.", n.Name, n.Config.Name, s.AITenantNamespace)
	}
	if s.TenantNamespace(n.Owner.Name) != n.Name {
		return nil, problem("MaasTenantConfig %s/%s names AITenant %s as its owner, whose namespace is another one.", n.Name, n.Config.Name, n.Owner.Name)
	}
	return n.Owner, nil
}

func (s Settings) legacy(t *v1alpha1.Tenant) (Context, error) {
	c := s.defaults()
	if ref := t.Spec.GatewayRef; ref != nil && (ref.Name != "" || ref.Namespace != "") {
		if ref.Name == "" || ref.Namespace == "" {
			return Context{}, problem("Tenant %s/%s: spec.gatewayRef needs both name and namespace, or neither.", t.Namespace, t.Name)
		}
		c.Gateway = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	c.OIDC, c.OIDCProblem = legacyOIDC(t)
	return c, nil
}
