// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Words of the annotation for the management state.
const (
	stateManaged   = "Managed"
	stateUnmanaged = "Unmanaged"
	stateRemoved   = "Removed"
)

// own leaves configs alone that are nobody's or somebody else's: without a tenant's
// label they would be taken for the default tenant's and overwrite its services.
func (r *Reconciler) own(_ context.Context, s *scope) error {
	settings := r.Tenants.Settings
	managed := s.config.Labels[v1alpha1.LabelManagedByAITenant] == "true"
	switch {
	case s.config.Name != v1alpha1.DefaultTenantConfigName:
		s.ignore()
	case s.config.Namespace == settings.DefaultNamespace:
	case !settings.Discovery || !managed:
		s.ignore()
	}
	return nil
}

// hold comes before anything is written that would have to be removed.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	s.config.Status.InfraNamespace = r.Settings.InfraNamespace
	return finalizer.Add(ctx, r.Client, s.config, v1alpha1.FinalizerTenantCleanup)
}

// manage heeds the management state; Removed waits for the anchor.
func (r *Reconciler) manage(_ context.Context, s *scope) error {
	switch state := s.config.Annotations[v1alpha1.AnnotationManagementState]; state {
	case "", stateManaged, stateRemoved:
	case stateUnmanaged:
		s.halt(tenantstatus.Halt{
			Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonManagementStateIdle, Idle: true,
			Message: fmt.Sprintf("The annotation %s is %s: what runs for the tenant is neither changed nor removed, nor watched. Remove the annotation to have it managed again.", v1alpha1.AnnotationManagementState, stateUnmanaged),
		})
	default:
		s.refuse(v1alpha1.ReasonUnexpectedManagementState, fmt.Sprintf("The annotation %s is none of %s, %s and %s: correct or remove it. What runs stays in place.",
			v1alpha1.AnnotationManagementState, stateManaged, stateUnmanaged, stateRemoved))
	}
	return nil
}

// anchor waits for the Config, which stands for the whole installation.
func (r *Reconciler) anchor(ctx context.Context, s *scope) error {
	config, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: v1alpha1.ConfigName}, &v1alpha1.Config{})
	switch {
	case err != nil:
		return err
	case config == nil:
		s.wait(v1alpha1.ReasonConfigMissing, "There is no Config named default. The operator makes one at its start; create it if it was deleted.")
	case config.DeletionTimestamp != nil:
		s.wait(v1alpha1.ReasonConfigTerminating, "The Config named default is being deleted, and with it the installation.")
	case config.UID == "":
		s.wait(v1alpha1.ReasonWaitingForConfigUID, "The Config named default is not stored yet.")
	default:
		s.anchor = config.UID
	}
	return nil
}

// locate finds the tenant, its Gateway, and which kinds the cluster serves.
func (r *Reconciler) locate(ctx context.Context, s *scope) error {
	if err := r.survey(s); err != nil {
		return err
	}
	s.input = tenant.Input{Config: s.config, Served: s.served, Settings: r.Settings}
	err := owned(s.config)
	if err == nil {
		s.input.Tenant, err = r.Tenants.ForNamespace(ctx, s.config.Namespace)
	}
	if user, ok := apperr.AsUser(err); ok {
		s.refuse(v1alpha1.ReasonInvalidGateway, user.Message)
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.identify(ctx, s); err != nil || s.stopped {
		return err
	}
	if !s.served[gateways.CRD] {
		return nil // The phase that requires APIs says so.
	}
	s.gateway, err = fetch.Optional(ctx, r.Client, s.input.Tenant.Gateway, &gwapiv1.Gateway{})
	if err != nil {
		return err
	}
	s.input.GatewayExists = s.gateway != nil
	if s.gateway == nil {
		s.wait(v1alpha1.ReasonGatewayNotReady, fmt.Sprintf("Gateway %s does not exist: create it, or name another one in spec.gateway.name of the AITenant.", s.input.Tenant.Gateway))
		return r.releaseGuards(ctx, s)
	}
	return nil
}

// survey asks which of the kinds of others the cluster serves.
func (r *Reconciler) survey(s *scope) error {
	all, _ := written()
	for _, api := range append(all, gateways, authConfigs, authorinos, dataScienceClusters, externalModels, envoyFilters, wasmPlugins) {
		_, served, err := r.APIs.Served(api)
		if err != nil {
			return apperr.Unchecked(v1alpha1.ReasonDependencyCheckFailed, err)
		}
		s.served[api.CRD] = served
	}
	return nil
}

// owned checks the marks of the AITenant on a config. One whose marks are not whole
// is never taken for the default tenant's.
func owned(config *v1alpha1.MaasTenantConfig) error {
	if config.Labels[v1alpha1.LabelManagedByAITenant] != "true" {
		return nil
	}
	for _, annotation := range []string{v1alpha1.AnnotationAITenantName, v1alpha1.AnnotationAITenantNamespace} {
		if config.Annotations[annotation] == "" {
			return apperr.Userf(v1alpha1.ReasonInvalidGateway, "MaasTenantConfig %s/%s lacks the annotation %s: its AITenant sets it.", config.Namespace, config.Name, annotation)
		}
	}
	namespace, labelled := config.Labels[v1alpha1.LabelTenantNamespace]
	named := config.Labels[v1alpha1.LabelTenantName]
	if (labelled || named == tenancy.DefaultName) && namespace != config.Namespace {
		return apperr.Userf(v1alpha1.ReasonInvalidGateway, "MaasTenantConfig %s/%s has a label %s that is not its namespace: its AITenant sets it.", config.Namespace, config.Name, v1alpha1.LabelTenantNamespace)
	}
	return nil
}

// identify finds the UID that tells this tenant from an earlier one of its name, by
// which keys are kept apart. What an AITenant manages waits for exactly that AITenant.
func (r *Reconciler) identify(ctx context.Context, s *scope) error {
	if s.config.Labels[v1alpha1.LabelManagedByAITenant] != "true" {
		return r.unclaimed(ctx, s)
	}
	key := types.NamespacedName{
		Namespace: s.config.Annotations[v1alpha1.AnnotationAITenantNamespace],
		Name:      s.config.Annotations[v1alpha1.AnnotationAITenantName],
	}
	owner, err := fetch.Optional(ctx, r.Client, key, &v1alpha1.AITenant{})
	if err != nil {
		return err
	}
	marked := types.UID(s.config.Annotations[v1alpha1.AnnotationAITenantUID])
	switch {
	case owner == nil || key.Namespace != r.Tenants.Settings.AITenantNamespace:
		s.wait(v1alpha1.ReasonTenantNotReady, fmt.Sprintf("There is no AITenant %s, which manages this MaasTenantConfig: create it, or delete the MaasTenantConfig.", key))
	case marked != "" && marked != owner.UID:
		s.wait(v1alpha1.ReasonTenantNotReady, fmt.Sprintf("AITenant %s was made anew and has not taken this MaasTenantConfig over yet: its status says what it waits for.", key))
	default:
		s.input.TenantUID = owner.UID
	}
	return nil
}

// unclaimed refuses a Gateway that an AITenant claims to a config that none manages:
// two tenants on one Gateway would get each other's requests. Claims are not watched
// here.
func (r *Reconciler) unclaimed(ctx context.Context, s *scope) error {
	gateway := s.input.Tenant.Gateway
	key := types.NamespacedName{Namespace: r.Tenants.Settings.AITenantNamespace, Name: tenancy.GatewayClaim(gateway.Namespace, gateway.Name)}
	claim, err := fetch.Optional(ctx, r.Client, key, &corev1.ConfigMap{})
	if err != nil || claim == nil || claim.Labels[v1alpha1.LabelGatewayClaim] != "true" {
		return err
	}
	s.refuse(v1alpha1.ReasonInvalidGateway, fmt.Sprintf("Gateway %s is claimed by AITenant %s, and no AITenant manages this MaasTenantConfig: create AITenant %s with a Gateway of its own.",
		gateway, claim.Annotations[v1alpha1.AnnotationAITenantName], tenancy.DefaultName))
	s.lookAgain(handBackDelay)
	return nil
}

// require waits for the APIs without which the tenant's objects mean nothing.
func (r *Reconciler) require(_ context.Context, s *scope) error {
	for _, api := range needs() {
		if !s.served[api.CRD] {
			s.facts.MissingAPIs = append(s.facts.MissingAPIs, api.CRD)
		}
	}
	s.stopped = len(s.facts.MissingAPIs) > 0
	return nil
}
