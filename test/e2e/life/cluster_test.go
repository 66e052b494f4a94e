// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// infra is where what runs for tenants is.
const infra = "odh-ai-gateway-infra"

// tenantOf is a tenant, by the name of its AITenant.
type tenantOf string

const (
	theDefault tenantOf = v1alpha1.DefaultAITenantName
	red        tenantOf = "red"
)

func (t tenantOf) name() string { return string(t) }

func (t tenantOf) namespace() string {
	if t == theDefault {
		return stage.TenantNamespace
	}
	return "ai-tenant-" + string(t)
}

func (t tenantOf) object() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: t.name()}}
}

func (t tenantOf) config() *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: v1alpha1.DefaultTenantConfigName}}
}

func (t tenantOf) gateway(name string) *gwapiv1.Gateway {
	return builder.Gateway(builder.Key(stage.GatewayNamespace, name), name+".example.com")
}

// works waits until what the tenant now says is done.
func (t tenantOf) works(ctx context.Context) {
	GinkgoHelper()
	Eventually(condition(ctx, t.object(), v1alpha1.ConditionReady)).Should(Equal("True Reconciled"))
	Eventually(condition(ctx, t.config(), v1alpha1.ConditionReady)).Should(Equal("True Reconciled"))
}

func config() *v1alpha1.Config {
	return &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: stage.DeploymentName}}
}

func egressPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "maas-api-egress-restrict"}}
}

func legacyTenant() *v1alpha1.Tenant {
	return &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{
		Namespace: stage.TenantNamespace, Name: v1alpha1.DefaultTenantConfigName, Finalizers: []string{v1alpha1.FinalizerLegacyTenant},
	}}
}

// generated are the policies of a model.
func generated(model client.ObjectKey) []*unstructured.Unstructured {
	auth, limits := kuadrant.New(kuadrant.AuthPolicy), kuadrant.New(kuadrant.TokenRateLimitPolicy)
	auth.SetName("maas-auth-" + model.Name)
	limits.SetName("maas-trlp-" + model.Name)
	for _, o := range []*unstructured.Unstructured{auth, limits} {
		o.SetNamespace(model.Namespace)
	}
	return []*unstructured.Unstructured{auth, limits}
}

// inherit leaves what earlier releases and their administrators left.
func inherit(ctx context.Context) {
	GinkgoHelper()
	labels := map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: name, Labels: labels}
	}
	former := &appsv1.Deployment{ObjectMeta: at("maas-api"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "former"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "former"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "api", Image: "former"}}},
		},
	}}
	everywhere := metav1.ObjectMeta{Name: "maas-api-supplemental", Labels: labels}
	create(
		ctx,
		&corev1.Secret{ObjectMeta: at(v1alpha1.DatabaseSecretName), StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"}},
		former,
		&corev1.Service{ObjectMeta: at("maas-api"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8443}}}},
		&corev1.ConfigMap{ObjectMeta: at("maas-api-config")},
		&gwapiv1.HTTPRoute{ObjectMeta: at("maas-api-route")},
		&rbacv1.ClusterRole{ObjectMeta: everywhere},
		&rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: everywhere.Name}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stage.TenantNamespace}},
		legacyTenant(),
	)
	edit(ctx, deployment(), func(d *appsv1.Deployment) { d.Finalizers = []string{v1alpha1.FinalizerLegacyDeployment} })
}

// becomeOpenShift installs what makes a cluster one of OpenShift AI.
func becomeOpenShift(ctx context.Context) {
	GinkgoHelper()
	Expect(on.Install(ctx, testenv.OpenShift)).To(Succeed())
	Expect(on.Env.InstallCRDFiles(ctx, filepath.Join(testenv.RepoRoot(), "test", "e2e", "life", "testdata", "dscinitializations.yaml"))).To(Succeed())
	for _, kind := range []string{"ClusterVersion", "Authentication", "APIServer"} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: kind})
		o.SetName("cluster")
		if kind == "ClusterVersion" {
			o.SetName("version")
			o.Object["spec"] = map[string]any{"clusterID": "00000000-0000-0000-0000-000000000000"}
		}
		create(ctx, o)
	}
	dsci := &unstructured.Unstructured{}
	dsci.SetGroupVersionKind(schema.GroupVersionKind{Group: "dscinitialization.opendatahub.io", Version: "v1", Kind: "DSCInitialization"})
	dsci.SetName("default-dsci")
	create(ctx, dsci)
}

// ours are the objects of a kind of rights that the operator made.
func ours(ctx context.Context, kind string) []unstructured.Unstructured {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind + "List"})
	Expect(on.Admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty(), kind)
	return list.Items
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(ctx, o)).To(Succeed(), "create %T %s", o, client.ObjectKeyFromObject(o))
	}
}

func remove(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(client.IgnoreNotFound(on.Admin.Delete(ctx, o))).To(Succeed(), "delete %T %s", o, client.ObjectKeyFromObject(o))
	}
}

func read[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

func edit[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	read(ctx, object)
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(on.Admin.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

// missing tells whether an object does not exist.
func missing(ctx context.Context, object client.Object) func() (bool, error) {
	return func() (bool, error) {
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err != nil, client.IgnoreNotFound(err)
	}
}

// condition is "<status> <reason>" of a condition for the present generation.
func condition(ctx context.Context, object client.Object, kind v1alpha1.ConditionType) func() (string, error) {
	return func() (string, error) {
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return "gone", client.IgnoreNotFound(err)
		}
		var conditions []metav1.Condition
		switch o := object.(type) {
		case *v1alpha1.AITenant:
			conditions = o.Status.Conditions
		case *v1alpha1.MaasTenantConfig:
			conditions = o.Status.Conditions
		case *v1alpha1.Config:
			conditions = o.Status.Conditions
		}
		c := meta.FindStatusCondition(conditions, string(kind))
		if c == nil || c.ObservedGeneration != object.GetGeneration() {
			return "not judged yet", nil
		}
		return string(c.Status) + " " + c.Reason, nil
	}
}

// phase is the phase of an auth policy or a subscription.
func phase(ctx context.Context, object client.Object) func() (string, error) {
	return func() (string, error) {
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch o := object.(type) {
		case *v1alpha1.MaaSAuthPolicy:
			return string(o.Status.Phase), err
		case *v1alpha1.MaaSSubscription:
			return string(o.Status.Phase), err
		}
		return "", err
	}
}
