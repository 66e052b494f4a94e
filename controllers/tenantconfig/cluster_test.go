// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/rig"
)

// works is Degraded, because the cluster serves neither cert-manager nor Istio.
const works = "Degraded Reconciled"

// otherGatewayNamespace is where Gateways are moved to.
const otherGatewayNamespace = "other-gateways"

// prepareCluster creates what exists before any tenant. The shared ClusterRoles are
// another controller's work.
func prepareCluster(ctx context.Context) {
	GinkgoHelper()
	suite.CreateNamespaces(ctx, defaultNamespace, aitenantNamespace, infraNamespace, gatewayNamespace, otherGatewayNamespace)
	suite.CreateGatewayClass(ctx)
	for _, role := range []string{"maas-api", tenancy.PayloadReaderRole} {
		Expect(suite.Admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}})).To(Succeed())
	}
	Expect(suite.Admin.Create(ctx, &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}})).To(Succeed())
}

// destinationRules are a kind that takes anything.
func destinationRules() *unstructured.Unstructured {
	return kind("networking.istio.io", "v1", "DestinationRule", "destinationrules")
}

// kind is a CustomResourceDefinition that takes anything.
func kind(group, version, name, plural string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "singular": strings.ToLower(name), "kind": name, "listKind": name + "List"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// provideDatabase creates or replaces the Secret with the database's address.
func provideDatabase(ctx context.Context, address string) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: address},
	}
	Expect(client.IgnoreNotFound(suite.Admin.Delete(ctx, secret.DeepCopy()))).To(Succeed())
	Expect(suite.Admin.Create(ctx, secret)).To(Succeed())
}

// tenantOf is one tenant, as the controller of AITenants would have set it up.
type tenantOf struct {
	ctx       context.Context
	name      string
	namespace string
}

// newTenant sets a tenant up, with a Gateway of its own.
func newTenant(ctx context.Context, name string) tenantOf {
	GinkgoHelper()
	t := tenantOf{ctx: context.WithoutCancel(ctx), name: name, namespace: "ai-tenant-" + name}
	Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})).To(Succeed())
	t.addGateway(gatewayNamespace)
	Expect(suite.Admin.Create(ctx, &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: name}})).To(Succeed())
	t.moveTo(gatewayNamespace)
	t.addConfig()
	return t
}

func (t tenantOf) addConfig() {
	GinkgoHelper()
	stamp := tenancy.StampOf(types.NamespacedName{Namespace: aitenantNamespace, Name: t.name}, t.namespace)
	Expect(suite.Admin.Create(t.ctx, &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: t.namespace, Name: v1alpha1.DefaultTenantConfigName, Labels: stamp.Labels, Annotations: stamp.Annotations,
	}})).To(Succeed())
}

func (t tenantOf) addGateway(namespace string) {
	GinkgoHelper()
	Expect(suite.Admin.Create(t.ctx, rig.Gateway(namespace, t.name))).To(Succeed())
}

// moveTo says in the AITenant's status that its Gateway is in a namespace.
func (t tenantOf) moveTo(namespace string) {
	GinkgoHelper()
	owner := &v1alpha1.AITenant{}
	Expect(suite.Admin.Get(t.ctx, types.NamespacedName{Namespace: aitenantNamespace, Name: t.name}, owner)).To(Succeed())
	before := owner.DeepCopy()
	owner.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: namespace, Name: t.name}
	Expect(suite.Admin.Status().Patch(t.ctx, owner, client.MergeFrom(before))).To(Succeed())
}

func (t tenantOf) key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.namespace, Name: v1alpha1.DefaultTenantConfigName}
}

// object is a config with nothing but its name.
func (t tenantOf) object() *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.DefaultTenantConfigName}}
}

// config reads the config; nil when there is none.
func (t tenantOf) config() *v1alpha1.MaasTenantConfig {
	c := &v1alpha1.MaasTenantConfig{}
	if err := suite.Admin.Get(t.ctx, t.key(), c); err != nil {
		return nil
	}
	return c
}

// state is the phase and the reason of Ready.
func (t tenantOf) state() string {
	c := t.config()
	if c == nil {
		return "gone"
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, string(v1alpha1.ConditionReady))
	if ready == nil {
		return string(c.Status.Phase)
	}
	return string(c.Status.Phase) + " " + ready.Reason
}

// annotate sets an annotation of the config; an empty value removes it.
func (t tenantOf) annotate(name, value string) {
	GinkgoHelper()
	c := t.config()
	before := c.DeepCopy()
	if c.Annotations[name] = value; value == "" {
		delete(c.Annotations, name)
	}
	Expect(suite.Admin.Patch(t.ctx, c, client.MergeFrom(before))).To(Succeed())
}

// recorded is the inventory, one "Kind namespace/name" each.
func (t tenantOf) recorded() []string {
	var names []string
	if c := t.config(); c != nil {
		for _, e := range c.Status.Inventory {
			names = append(names, e.Kind+" "+e.Namespace+"/"+e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// operands are the kinds of a tenant's objects.
func operands() []schema.GroupVersionKind {
	rights := func(kind string) schema.GroupVersionKind { return rbacv1.SchemeGroupVersion.WithKind(kind) }
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"},
		{Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		rights("Role"),
		rights("RoleBinding"),
		rights("ClusterRoleBinding"),
		{Group: gwapiv1.GroupName, Version: "v1", Kind: "HTTPRoute"},
		kuadrant.AuthPolicy,
		kuadrant.TokenRateLimitPolicy,
		{Group: "extensions.kuadrant.io", Version: "v1alpha1", Kind: "TelemetryPolicy"},
	}
}

// objects are the tenant's objects in the cluster.
func (t tenantOf) objects() []unstructured.Unstructured {
	GinkgoHelper()
	var found []unstructured.Unstructured
	for _, kind := range operands() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		Expect(suite.Admin.List(t.ctx, list, client.MatchingLabels{
			v1alpha1.LabelTenantNamespace: t.namespace, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS,
		})).To(Succeed())
		found = append(found, list.Items...)
	}
	return found
}

// existing are the names of those objects, as recorded has them.
func (t tenantOf) existing() []string {
	GinkgoHelper()
	var names []string
	for _, o := range t.objects() {
		names = append(names, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(names)
	return names
}

// versions are the resourceVersions of those objects and of the config.
func (t tenantOf) versions() map[string]string {
	GinkgoHelper()
	versions := map[string]string{"config": t.config().ResourceVersion}
	for _, o := range t.objects() {
		versions[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
	}
	return versions
}

// guards are the policies of the tenant's Gateway that exist.
func (t tenantOf) guards(namespace string) []string {
	GinkgoHelper()
	return slices.DeleteFunc(t.existing(), func(name string) bool {
		return name != "AuthPolicy "+namespace+"/gateway-default-auth-"+t.name && name != "TokenRateLimitPolicy "+namespace+"/gateway-default-deny-"+t.name
	})
}

// maasAPI reads the Deployment of a tenant; nil when there is none.
func maasAPI(t tenantOf) func() *appsv1.Deployment {
	return func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := suite.Admin.Get(t.ctx, types.NamespacedName{Namespace: infraNamespace, Name: "maas-api-" + t.name}, d); err != nil {
			return nil
		}
		return d
	}
}

// annotateObject takes an object out of the operator's hands, or hands it back.
func annotateObject(object client.Object, value string) {
	GinkgoHelper()
	ctx := context.Background()
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	object.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: value})
	Expect(suite.Admin.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}
