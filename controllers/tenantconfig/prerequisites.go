// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// provide looks for what the administrator has to provide, and whether the
// Gateway has room for more. What could not be read is neither there nor missing.
func (r *Reconciler) provide(ctx context.Context, s *scope) error {
	if err := r.database(ctx, s); err != nil {
		return err
	}
	for _, check := range []func(context.Context, *scope) (string, error){r.authorinoTLS, r.monitoring} {
		warning, err := check(ctx, s)
		if err != nil {
			return err
		}
		if warning != "" {
			s.facts.Prerequisites.Warnings = append(s.facts.Prerequisites.Warnings, warning)
		}
	}
	r.weigh(ctx, s)
	s.stopped = len(s.facts.Prerequisites.Blocking) > 0
	return nil
}

// database looks for the Secret with the database's address. Of the Secret nothing but
// its version is kept.
func (r *Reconciler) database(ctx context.Context, s *scope) error {
	key := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: v1alpha1.DatabaseSecretName}
	secret, err := fetch.Optional(ctx, r.APIReader, key, &corev1.Secret{})
	if err != nil {
		return err
	}
	var missing string
	switch {
	case secret == nil:
		missing = fmt.Sprintf("Secret %s does not exist: create it with the address of the PostgreSQL database in the key %s.", key, v1alpha1.DatabaseSecretKey)
	case strings.TrimSpace(string(secret.Data[v1alpha1.DatabaseSecretKey])) == "":
		missing = fmt.Sprintf("Secret %s has no key %s, or an empty one: set it to the address of the PostgreSQL database.", key, v1alpha1.DatabaseSecretKey)
	default:
		s.input.DatabaseSecretVersion = secret.ResourceVersion
		return nil
	}
	s.facts.Prerequisites.Blocking = append(s.facts.Prerequisites.Blocking, missing)
	return nil
}

// authorinoTLS warns when keys and tokens would reach Authorino unencrypted.
func (r *Reconciler) authorinoTLS(ctx context.Context, s *scope) (string, error) {
	if !s.served[authorinos.CRD] {
		return "", nil
	}
	instances, err := r.list(ctx, authorinos)
	if err != nil {
		return "", err
	}
	for i := range instances {
		enabled, _, _ := unstructured.NestedBool(instances[i].Object, "spec", "listener", "tls", "enabled")
		name, _, _ := unstructured.NestedString(instances[i].Object, "spec", "listener", "tls", "certSecretRef", "name")
		if enabled && name != "" {
			return "", nil
		}
	}
	if len(instances) == 0 {
		return "No Authorino instance exists: create one with spec.listener.tls, as the installation of Kuadrant does.", nil
	}
	return "No Authorino instance has TLS on its listener: set spec.listener.tls.enabled and spec.listener.tls.certSecretRef.name of one, or credentials reach it unencrypted.", nil
}

// monitoring warns when the platform collects no metrics. Only OpenShift AI has such a
// platform.
func (r *Reconciler) monitoring(ctx context.Context, s *scope) (string, error) {
	if r.Settings.Platform != tenant.OpenShift {
		return "", nil
	}
	if !s.served[dataScienceClusters.CRD] {
		return "The cluster does not serve DSCInitialization, so nothing is known about monitoring: install the platform's operator to have usage shown.", nil
	}
	instances, err := r.list(ctx, dataScienceClusters)
	if err != nil {
		return "", err
	}
	if len(instances) == 0 {
		return "No DSCInitialization exists, so usage is not shown: create default-dsci with spec.monitoring.", nil
	}
	slices.SortFunc(instances, func(a, b unstructured.Unstructured) int {
		const preferred = "default-dsci"
		return cmp.Or(compareBool(b.GetName() == preferred, a.GetName() == preferred), cmp.Compare(a.GetName(), b.GetName()))
	})
	return monitoringProblem(&instances[0]), nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// monitoringProblem is the first thing that a DSCInitialization lacks. Its own messages
// are not repeated: they change while the state does not.
func monitoringProblem(instance *unstructured.Unstructured) string {
	name := instance.GetName()
	conditions := conditionsOf(instance)
	if len(conditions) == 0 {
		return fmt.Sprintf("DSCInitialization %s has no conditions yet, so nothing is known about monitoring.", name)
	}
	for _, kind := range []string{"MonitoringReady", "MonitoringStackAvailable", "PersesAvailable"} {
		condition := meta.FindStatusCondition(conditions, kind)
		switch {
		case condition == nil:
			return fmt.Sprintf("DSCInitialization %s has no condition %s: set spec.monitoring to have usage shown.", name, kind)
		case condition.Status != metav1.ConditionTrue:
			return fmt.Sprintf("DSCInitialization %s reports %s=%s, reason %s, so usage is not shown: its status says more.", name, kind, condition.Status, condition.Reason)
		}
	}
	return ""
}

// list reads all objects of a kind that is served.
func (r *Reconciler) list(ctx context.Context, api facts.API) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(api.GroupKind.WithVersion(api.Versions[0]))
	list.SetKind(api.GroupKind.Kind + "List")
	if err := r.Client.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list %s: %w", api.CRD, err)
	}
	return list.Items, nil
}

// conditionsOf reads the conditions of any object; nil when they have another shape.
func conditionsOf(object *unstructured.Unstructured) []metav1.Condition {
	var parsed struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &parsed); err != nil {
		return nil
	}
	return parsed.Status.Conditions
}
