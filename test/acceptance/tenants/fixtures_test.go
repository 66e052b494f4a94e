// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// What the status of a tenant says that is set up and works.
const (
	active  = "Active Reconciled"
	working = "Active Reconciled"
)

// tenantOf is a tenant, by the name of its AITenant.
type tenantOf string

const theDefault tenantOf = v1alpha1.DefaultAITenantName

// namespace is where the tenant's settings and subscriptions are.
func (t tenantOf) namespace() string {
	if t == theDefault {
		return stage.TenantNamespace
	}
	return "ai-tenant-" + string(t)
}

// suffixed is the tenant's name for an object that every tenant has.
func (t tenantOf) suffixed(base string) string {
	if t == theDefault {
		return base
	}
	return base + "-" + string(t)
}

// object is the AITenant with nothing but its name.
func (t tenantOf) object() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: string(t)}}
}

// config is the tenant's MaasTenantConfig with nothing but its name.
func (t tenantOf) config() *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace(), Name: v1alpha1.DefaultTenantConfigName}}
}

// state is "<phase> <reason of Ready>" of the AITenant, for its generation.
func (t tenantOf) state(ctx context.Context) func() string {
	return func() string {
		o := t.object()
		if !exists(ctx, o) {
			return "gone"
		}
		return sum(string(o.Status.Phase), o.Status.Conditions, o.Generation)
	}
}

// services is the same of the MaasTenantConfig.
func (t tenantOf) services(ctx context.Context) func() string {
	return func() string {
		o := t.config()
		if !exists(ctx, o) {
			return "gone"
		}
		return sum(string(o.Status.Phase), o.Status.Conditions, o.Generation)
	}
}

func sum(phase string, conditions []metav1.Condition, generation int64) string {
	ready := meta.FindStatusCondition(conditions, string(v1alpha1.ConditionReady))
	switch {
	case ready == nil:
		return "not judged yet"
	case ready.ObservedGeneration != generation:
		return "outdated"
	default:
		return phase + " " + ready.Reason
	}
}

// message is the text of a condition of the MaasTenantConfig, trouble that of Ready of
// the AITenant.
func (t tenantOf) message(ctx context.Context, kind v1alpha1.ConditionType) string {
	GinkgoHelper()
	o := read(ctx, t.config())
	c := meta.FindStatusCondition(o.Status.Conditions, string(kind))
	if c == nil {
		return ""
	}
	return c.Message
}

func (t tenantOf) trouble(ctx context.Context) string {
	GinkgoHelper()
	return meta.FindStatusCondition(read(ctx, t.object()).Status.Conditions, string(v1alpha1.ConditionReady)).Message
}

// condition is "<status> <reason>" of a condition of either object.
func condition(conditions []metav1.Condition, kind v1alpha1.ConditionType) string {
	c := meta.FindStatusCondition(conditions, string(kind))
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason
}

func (t tenantOf) degraded(ctx context.Context) func() string {
	return func() string {
		o := t.config()
		if !exists(ctx, o) {
			return "gone"
		}
		return condition(o.Status.Conditions, v1alpha1.ConditionDegraded)
	}
}

// gateway is one of the tenant's own, named like the tenant.
func (t tenantOf) gateway() *gwapiv1.Gateway { return gateway(string(t)) }

func gateway(name string) *gwapiv1.Gateway {
	return builder.Gateway(builder.Key(stage.GatewayNamespace, name), name+".example.com")
}

// setUp creates tenants with Gateways of their own and waits until they work.
func setUp(ctx context.Context, tenants ...tenantOf) {
	GinkgoHelper()
	for _, t := range tenants {
		create(ctx, t.gateway(), t.object())
	}
	work(ctx, tenants...)
}

// work waits until tenants work.
func work(ctx context.Context, tenants ...tenantOf) {
	GinkgoHelper()
	for _, t := range tenants {
		Eventually(t.state(ctx)).Should(Equal(active), "AITenant %s", t)
		Eventually(t.services(ctx)).Should(Equal(working), "services of %s", t)
	}
}

// annotate sets an annotation of the MaasTenantConfig; an empty value removes it.
func (t tenantOf) annotate(ctx context.Context, key, value string) {
	GinkgoHelper()
	edit(ctx, t.config(), func(c *v1alpha1.MaasTenantConfig) { setAnnotation(c, key, value) })
}

// move names another Gateway in the AITenant.
func (t tenantOf) move(ctx context.Context, gateway string) {
	GinkgoHelper()
	edit(ctx, t.object(), func(o *v1alpha1.AITenant) { o.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: gateway} })
}

func setAnnotation(object client.Object, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
}

// exists reads an object, and tells whether there is one.
func exists(ctx context.Context, object client.Object) bool {
	GinkgoHelper()
	err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	return true
}

// there is exists for Eventually.
func there(ctx context.Context, object client.Object) func() bool {
	return func() bool { return exists(ctx, object) }
}

// read fills an object that must exist.
func read[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
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

// edit changes an object as somebody else would.
func edit[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	read(ctx, object)
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(on.Admin.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

// finishJobs plays the Pods of Jobs that revoke keys: each of them succeeds.
func finishJobs(ctx context.Context) {
	finish := func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := on.Admin.List(ctx, &pods, client.InNamespace(infra), client.MatchingLabels{"app": "maas-api-revocation"})
		for i := range pods.Items {
			pod := &pods.Items[i]
			if err != nil || pod.Status.Phase != corev1.PodRunning {
				continue
			}
			before := pod.DeepCopy()
			pod.Status.Phase = corev1.PodSucceeded
			err = on.Admin.Status().Patch(ctx, pod, client.MergeFrom(before))
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(GinkgoWriter, "finish Jobs: %v\n", err)
		}
		return false, nil
	}
	_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, finish)
}
