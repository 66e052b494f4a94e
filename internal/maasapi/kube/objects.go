// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// What is followed.
var (
	modelRefs     = v1alpha1.GroupVersion.WithResource("maasmodelrefs")
	subscriptions = v1alpha1.GroupVersion.WithResource("maassubscriptions")
	authPolicies  = v1alpha1.GroupVersion.WithResource("maasauthpolicies")
	gateways      = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
)

var errNoObject = errors.New("not an object of the API server")

// decode reads an object into its Go type. Objects are read one by one and not with
// their list, so that one that an earlier release stored with values the type
// cannot hold does not take the others along.
func decode(object, into any) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return errNoObject
	}
	// Not by runtime.DefaultUnstructuredConverter: it cuts numbers off in silence.
	text, err := u.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("decode %s: %w", u.GetKind(), err)
	}
	return nil
}

// readModel keeps what selection and listings need of a model. It belongs to the
// tenant its status names.
func readModel(object any) (*v1alpha1.MaaSModelRef, string, error) {
	m := &v1alpha1.MaaSModelRef{}
	if err := decode(object, m); err != nil {
		return nil, "", err
	}
	tenant := m.Status.Tenant
	return &v1alpha1.MaaSModelRef{
		ObjectMeta: about(&m.ObjectMeta, v1alpha1.AnnotationDisplayName, v1alpha1.AnnotationDescription,
			v1alpha1.AnnotationUseCase, v1alpha1.AnnotationContextWindow, v1alpha1.AnnotationModelCapabilities),
		Spec: m.Spec,
		Status: v1alpha1.MaaSModelRefStatus{
			Phase: m.Status.Phase, Endpoint: m.Status.Endpoint, BaseURL: m.Status.BaseURL,
			HTTPRouteName: m.Status.HTTPRouteName, HTTPRouteNamespace: m.Status.HTTPRouteNamespace,
			HTTPRouteGatewayName: m.Status.HTTPRouteGatewayName, HTTPRouteGatewayNamespace: m.Status.HTTPRouteGatewayNamespace,
			HTTPRouteHostnames: m.Status.HTTPRouteHostnames, Tenant: tenant, ResolvedModelAlias: m.Status.ResolvedModelAlias,
			Conditions: verdicts(m.Status.Conditions, v1alpha1.ConditionReady, v1alpha1.ConditionRouteUnique),
		},
	}, tenant, nil
}

// readSubscription keeps what selection and listings need of a subscription of the
// tenant, in whose namespace it is.
func readSubscription(tenant string) read[v1alpha1.MaaSSubscription] {
	return func(object any) (*v1alpha1.MaaSSubscription, string, error) {
		s := &v1alpha1.MaaSSubscription{}
		if err := decode(object, s); err != nil {
			return nil, "", err
		}
		out := &v1alpha1.MaaSSubscription{
			ObjectMeta: about(&s.ObjectMeta, v1alpha1.AnnotationDisplayName, v1alpha1.AnnotationDescription),
			Spec:       s.Spec,
			Status: v1alpha1.MaaSSubscriptionStatus{
				ObservedGeneration: s.Status.ObservedGeneration, Phase: s.Status.Phase, RateLimitIdentity: s.Status.RateLimitIdentity,
				Conditions:             verdicts(s.Status.Conditions, v1alpha1.ConditionReady),
				ModelRefStatuses:       slices.Clone(s.Status.ModelRefStatuses),
				TokenRateLimitStatuses: slices.Clone(s.Status.TokenRateLimitStatuses),
			},
		}
		for i := range out.Status.ModelRefStatuses {
			silence(&out.Status.ModelRefStatuses[i].ResourceRefStatus)
		}
		for i := range out.Status.TokenRateLimitStatuses {
			silence(&out.Status.TokenRateLimitStatuses[i].ResourceRefStatus)
		}
		return out, tenant, nil
	}
}

// readAuthPolicy keeps what an auth policy of the tenant grants. Its state does not
// count.
func readAuthPolicy(tenant string) read[v1alpha1.MaaSAuthPolicy] {
	return func(object any) (*v1alpha1.MaaSAuthPolicy, string, error) {
		p := &v1alpha1.MaaSAuthPolicy{}
		if err := decode(object, p); err != nil {
			return nil, "", err
		}
		out := &v1alpha1.MaaSAuthPolicy{ObjectMeta: about(&p.ObjectMeta)}
		out.Generation = 0
		out.Spec.Subjects, out.Spec.ModelRefs = p.Spec.Subjects, p.Spec.ModelRefs
		return out, tenant, nil
	}
}

// about keeps the name, the times of birth and death, and the annotations that are
// read. Of the finalizers the historical one tells how limits know a subscription.
func about(m *metav1.ObjectMeta, annotations ...string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}
	if slices.Contains(m.Finalizers, v1alpha1.FinalizerSubscriptionCleanup) {
		out.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
	}
	for _, name := range annotations {
		if value, ok := m.Annotations[name]; ok {
			if out.Annotations == nil {
				out.Annotations = make(map[string]string, len(annotations))
			}
			out.Annotations[name] = value
		}
	}
	return out
}

// verdicts keeps types and statuses of conditions.
func verdicts(conditions []metav1.Condition, types ...v1alpha1.ConditionType) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range conditions {
		if slices.Contains(types, v1alpha1.ConditionType(c.Type)) {
			out = append(out, metav1.Condition{Type: c.Type, Status: c.Status})
		}
	}
	return out
}

// silence drops the words of a status, which say nothing to callers.
func silence(s *v1alpha1.ResourceRefStatus) { s.Reason, s.Message = "", "" }
