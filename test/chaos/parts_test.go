// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// part draws one of the objects that the operator makes.
func (p *planner) part() ref {
	tenant := p.tenant()
	switch roll := p.IntN(100); {
	case roll < 60:
		return pick(p, partsOf(tenant)...)
	case roll < 75:
		return pick(p, rolesOf(tenant)...)
	case roll < 83:
		return claimOn(pick(p, p.gateways...))
	default:
		return pick(p, append(sharedRefs(), ref{policyKind, infra, egressPolicy})...)
	}
}

// object is an empty object of a reference.
func (c *cluster) object(r ref) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	for _, kind := range c.kinds {
		if kind.Kind == r.kind {
			o.SetGroupVersionKind(kind)
		}
	}
	o.SetNamespace(r.namespace)
	o.SetName(r.name)
	return o
}

func (p *planner) deletePart() step {
	r := p.part()
	return step{name: "delete " + r.String(), run: func(ctx context.Context, c *course) error {
		if c.users[r] != nil {
			return nil // That is somebody else's.
		}
		delete(c.leftAlone, r)
		return c.remove(ctx, c.object(r))
	}}
}

// alterPart writes into an object what does not belong there.
func (p *planner) alterPart() step {
	r := p.part()
	for r.kind == configMapKind {
		r = p.part()
	}
	how := pick(p, "the content", "the content", "the content", "the operator's label", "the tenant's label")
	return step{name: fmt.Sprintf("change %s of %s", how, r), run: func(ctx context.Context, c *course) error {
		if _, kept := c.leftAlone[r]; kept || c.users[r] != nil {
			return nil
		}
		_, err := change(ctx, c.cluster, c.object(r), func(o *unstructured.Unstructured) {
			labels := o.GetLabels()
			switch how {
			case "the operator's label":
				delete(labels, v1alpha1.LabelManagedBy)
			case "the tenant's label":
				labels[v1alpha1.LabelTenantName] = "somebody"
			default:
				if labels[v1alpha1.LabelName] != "" { // A label of somebody else's own would stay.
					labels[v1alpha1.LabelName] = marker
				}
				alter(o)
			}
			o.SetLabels(labels)
		})
		if apierrors.IsInvalid(err) {
			return fmt.Errorf("%s cannot be altered like that: %w", r, err)
		}
		return err
	}}
}

// alterFirst puts the marker into a field of the first entry of a list, if there is one.
func alterFirst(o *unstructured.Unstructured, field string, list ...string) bool {
	entries, _, _ := unstructured.NestedSlice(o.Object, list...)
	if len(entries) == 0 {
		return false
	}
	if entry, ok := entries[0].(map[string]any); ok {
		entry[field] = marker
	}
	return unstructured.SetNestedField(o.Object, entries, list...) == nil
}

// alter puts the marker into the content, where the kind has a place for it.
func alter(o *unstructured.Unstructured) {
	set := func(value any, path ...string) { _ = unstructured.SetNestedField(o.Object, value, path...) }
	switch o.GetKind() {
	case deploymentKind:
		alterFirst(o, "image", "spec", "template", "spec", "containers")
	case serviceKind:
		set(marker, "spec", "selector", v1alpha1.LabelName)
	case roleKind, "ClusterRole":
		set([]any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{marker}}}, "rules")
	case bindingKind, clusterBindingKind:
		set([]any{map[string]any{"kind": "User", "apiGroup": rbacv1.GroupName, "name": marker}}, "subjects")
	case cronJobKind:
		set("7 7 7 7 *", "spec", "schedule")
	case routeKind, authKind, limitKind, "TelemetryPolicy":
		if !alterFirst(o, "name", "spec", "parentRefs") {
			set(marker, "spec", "targetRef", "name")
		}
	case destinationKind:
		set(marker, "spec", "host")
	case "Telemetry":
		set(marker, "spec", "selector", "matchLabels", "gateway.networking.k8s.io/gateway-name")
	case certificateKind:
		set(marker, "spec", "secretName")
	case policyKind:
		set(map[string]any{"app": marker}, "spec", "podSelector", "matchLabels")
	}
}

// optOut takes an object out of the operator's hands. A route keeps its tenant from
// being deleted then, which is shown elsewhere.
func (p *planner) optOut() step {
	r := p.part()
	for r.kind == configMapKind || r.kind == routeKind || r.kind == roleKind && r.name[:4] == "aite" {
		r = p.part()
	}
	return step{name: "opt out " + r.String(), run: func(ctx context.Context, c *course) error {
		if c.users[r] != nil {
			return nil
		}
		o := c.object(r)
		changed, err := change(ctx, c.cluster, o, func(o *unstructured.Unstructured) { setAnnotation(o, v1alpha1.AnnotationManaged, "false") })
		// Whatever has an owner goes with that.
		if changed && len(o.GetOwnerReferences()) == 0 {
			c.leftAlone[r] = o.GetUID()
		}
		return err
	}}
}

// optIn hands back all that is out of the operator's hands.
func (p *planner) optIn() step {
	return step{name: "opt in again what opted out", run: func(ctx context.Context, c *course) error { return c.optInAll(ctx) }}
}

func (c *course) optInAll(ctx context.Context) error {
	for _, tenant := range append(names(), theDefault) {
		for _, r := range partsOf(tenant) {
			if err := c.handBack(ctx, r, tenant); err != nil {
				return err
			}
		}
	}
	for _, r := range append(sharedRefs(), ref{policyKind, infra, egressPolicy}) {
		if err := c.handBack(ctx, r, ""); err != nil {
			return err
		}
	}
	return nil
}

// handBack opts one object in again. What a tenant that is gone, or about to go, left
// behind is deleted by whoever kept it, as the event on it asks for.
func (c *course) handBack(ctx context.Context, r ref, tenant string) error {
	o := c.object(r)
	if there, err := c.there(ctx, o); err != nil || !there || !optedOut(o.GetAnnotations()) {
		return err
	}
	delete(c.leftAlone, r)
	if tenant != "" {
		if stays, err := c.there(ctx, tenantConfig(tenant)); err != nil {
			return err
		} else if !stays || !c.wanted[tenant] {
			return c.remove(ctx, o)
		}
	}
	c.tell("opt in " + r.String())
	_, err := change(ctx, c.cluster, o, func(o *unstructured.Unstructured) { setAnnotation(o, v1alpha1.AnnotationManaged, "") })
	return err
}

// keep creates an object of a user and remembers what it is.
func (c *course) keep(ctx context.Context, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("write %T: %w", object, err)
	}
	o := &unstructured.Unstructured{Object: content}
	err = c.Admin.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil // Or there is no namespace for it yet.
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", refOf(o), err)
	}
	c.users[refOf(o)] = o
	return nil
}

// addUserObject makes something beside what is the operator's.
func (p *planner) addUserObject() step {
	tenant := p.tenant()
	role := pick(p, rolesOf(tenant)...)
	meta := metav1.ObjectMeta{Namespace: role.namespace, Name: "team-" + tenant}
	binding := &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: bindingKind}, ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: roleKind, Name: role.name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "team"}},
	}
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: homeOf(tenant), Name: "of-a-user"},
		Data: map[string][]byte{"key": []byte("value")},
	}
	// Labelled as somebody's who copied a manifest from the operator.
	settings := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: configMapKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "of-a-user-" + tenant, Labels: map[string]string{
			v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS, v1alpha1.LabelTenantName: tenant, v1alpha1.LabelTenantNamespace: homeOf(tenant),
		}},
	}
	object := pick[client.Object](p, binding, binding, secret, settings)
	return step{name: fmt.Sprintf("somebody makes %T %s", object, client.ObjectKeyFromObject(object)), run: func(ctx context.Context, c *course) error {
		copied, _ := object.DeepCopyObject().(client.Object)
		return c.keep(ctx, copied)
	}}
}

// foreignPolicy puts somebody's own NetworkPolicy in the place of one of ours.
func (p *planner) foreignPolicy() step {
	r := pick(p, ref{policyKind, infra, egressPolicy}, ref{policyKind, infra, egressPolicy}, ref{policyKind, infra, "maas-api-allow-cleanup"})
	own := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: policyKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name, Labels: map[string]string{"owner": "somebody"}},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "nothing"}}},
	}
	const attempts = 20
	return step{name: "somebody puts an own " + r.String() + " in the place of the operator's", run: func(ctx context.Context, c *course) error {
		delete(c.leftAlone, r)
		for range attempts { // The operator may be faster.
			if c.users[r] != nil {
				return nil
			}
			if err := c.remove(ctx, c.object(r)); err != nil {
				return err
			}
			if err := c.keep(ctx, own.DeepCopy()); err != nil {
				return err
			}
		}
		return nil
	}}
}
