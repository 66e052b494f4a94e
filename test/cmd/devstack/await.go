// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// awaitBootstrap waits for the default tenant, which nobody asked the operator for.
func (s *stack) awaitBootstrap(ctx context.Context) error {
	return s.awaitTenant(ctx, defaultTenant)
}

// awaitTenant waits until a tenant is set up, and its maas-api serves with the present
// settings, telling what it waits for whenever that changes.
func (s *stack) awaitTenant(ctx context.Context, name string) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	var last string
	err = poll(ctx, convergeTimeout, convergePoll, func(ctx context.Context) (bool, error) {
		if err := s.failing(processController, processWorkload); err != nil {
			return false, err
		}
		pending, err := tenantPending(ctx, c, &site{tenant: name})
		if err != nil {
			return false, err
		}
		if pending != "" && pending != last {
			s.progress.say("waiting: %s", pending)
		}
		last = pending
		return pending == "", nil
	})
	if err != nil && last != "" && ctx.Err() == nil {
		return errors.Join(fmt.Errorf("%w; still waiting: %s", err, last), s.explain(&site{tenant: name}))
	}
	return err
}

// failing is an error when one of the children has ended.
func (s *stack) failing(names ...string) error {
	for _, name := range names {
		if p := s.state.Processes[name]; p != nil && !p.Alive() {
			return p.failure("ended on its own")
		}
	}
	return nil
}

// explain tells what the logs say of a tenant that does not get ready.
func (s *stack) explain(t *site) error {
	var errs []error
	if p := s.state.Processes[processController]; p != nil {
		errs = append(errs, p.failure("may know why"))
	}
	report, err := s.layout.readReport()
	for _, p := range report.servers() {
		if p.deployment() == t.service() {
			errs = append(errs, fmt.Errorf("%s may know why: see %s", p.Pod, p.Log))
		}
	}
	return errors.Join(append(errs, err)...)
}

// tenantPending says what a tenant lacks, or nothing.
func tenantPending(ctx context.Context, c client.Client, t *site) (string, error) {
	tenant := &v1alpha1.AITenant{}
	key := types.NamespacedName{Namespace: stage.AITenantNamespace, Name: t.tenant}
	switch err := c.Get(ctx, key, tenant); {
	case apierrors.IsNotFound(err):
		return "AITenant " + t.tenant + " does not exist yet", nil
	case err != nil:
		return "", fmt.Errorf("get AITenant %s: %w", t.tenant, err)
	}
	settings := &v1alpha1.MaasTenantConfig{}
	key = types.NamespacedName{Namespace: t.namespace(), Name: v1alpha1.DefaultTenantConfigName}
	if err := c.Get(ctx, key, settings); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get MaasTenantConfig %s: %w", key, err)
	}
	switch {
	case settings.Status.Phase != v1alpha1.TenantPhaseActive:
		settings.Namespace, settings.Name = key.Namespace, key.Name // It may not be there yet.
		return settingsTrouble(settings), nil
	case settings.Status.ObservedGeneration != settings.Generation, tenant.Status.ObservedGeneration != tenant.Generation:
		return "AITenant " + t.tenant + " is not looked at yet", nil
	case tenant.Status.Phase != v1alpha1.AITenantPhaseActive:
		return tenantTrouble(tenant), nil
	}
	return deploymentPending(ctx, c, t.service())
}

// deploymentPending says what a maas-api lacks, or nothing. One that connected to the
// database where that was before is on its way out.
func deploymentPending(ctx context.Context, c client.Client, name string) (string, error) {
	key := types.NamespacedName{Namespace: infraNamespace, Name: name}
	deployment, secret := &appsv1.Deployment{}, &corev1.Secret{}
	if err := c.Get(ctx, key, deployment); err != nil {
		return "", fmt.Errorf("get Deployment %s: %w", key, err)
	}
	if err := c.Get(ctx, types.NamespacedName{Namespace: infraNamespace, Name: databaseSecret}, secret); err != nil {
		return "", fmt.Errorf("get Secret %s: %w", databaseSecret, err)
	}
	status := deployment.Status
	switch {
	case deployment.Spec.Template.Annotations[v1alpha1.AnnotationDatabaseSecretVersion] != secret.ResourceVersion:
		return "Deployment " + key.String() + " does not have the database's present address yet", nil
	case status.ObservedGeneration != deployment.Generation, status.UpdatedReplicas < 1, status.Replicas != status.UpdatedReplicas, status.AvailableReplicas != status.Replicas:
		return "Deployment " + key.String() + " is being rolled out", nil
	}
	return "", nil
}

// reasonOf is what the conditions of an object say is in the way.
func reasonOf(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, string(v1alpha1.ConditionReady))
	if ready == nil {
		return "no conditions yet"
	}
	degraded := meta.FindStatusCondition(conditions, string(v1alpha1.ConditionDegraded))
	if ready.Status == metav1.ConditionTrue && degraded != nil {
		ready = degraded
	}
	return strings.TrimSpace(ready.Reason + " " + ready.Message)
}

func orUnknown(phase string) string {
	if phase == "" {
		return "without a phase"
	}
	return phase
}

// otherTenants are the AITenants beside the default one that have a Gateway, by name.
func (s *stack) otherTenants(ctx context.Context) ([]string, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	var list v1alpha1.AITenantList
	if err := c.List(ctx, &list, client.InNamespace(stage.AITenantNamespace)); err != nil {
		return nil, fmt.Errorf("list AITenants: %w", err)
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].Name != defaultTenant {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}
