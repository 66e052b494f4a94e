// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

const (
	// waitInterval is when to look again at what is being deleted. Events tell too,
	// but not of kinds without a watch.
	waitInterval = 5 * time.Second
	// terminatingInterval is the same for a Config that somebody else holds.
	terminatingInterval = 10 * time.Second
)

// scope holds what one reconcile knows.
type scope struct {
	// deployment is the operator's own, read past the cache.
	deployment *metav1.PartialObjectMetadata
	// config is nil while there is none.
	config *v1alpha1.Config
	// tenant is the default AITenant, nil while there is none.
	tenant *v1alpha1.AITenant
	// inventory is what the status will list.
	inventory apply.Inventory
	// shared says that all shared objects are in place.
	shared bool
	// ready and torn are what the conditions will say; without a status they stay as
	// they are, and torn goes when nothing is to be torn down.
	ready, torn conditions.Value
	// notes are sentences for somebody to read although all is well.
	notes []string
	// again is when to look once more; 0 leaves that to the settings.
	again time.Duration
	// stopped ends the phases early, without an error.
	stopped bool
	// transitions are what the conditions made of the status.
	transitions []conditions.Transition
}

// newScope reads the facts; nil without an error means that there is nothing to do.
func (r *Reconciler) newScope(ctx context.Context) (*scope, error) {
	deployment, err := fetch.Optional(ctx, r.APIReader, r.deploymentKey(), deploymentMetadata())
	if err != nil || deployment == nil {
		return nil, err
	}
	s := &scope{deployment: deployment}
	if s.config, err = fetch.Optional(ctx, r.Client, configKey(), &v1alpha1.Config{}); err != nil {
		return nil, err
	}
	if s.config != nil {
		s.inventory = apply.InventoryFrom(s.config.Status.Inventory)
	}
	if s.tenant, err = fetch.Optional(ctx, r.Client, r.defaultTenantKey(), &v1alpha1.AITenant{}); err != nil {
		return nil, err
	}
	return s, nil
}

func configKey() types.NamespacedName { return types.NamespacedName{Name: v1alpha1.ConfigName} }

func (r *Reconciler) deploymentKey() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Settings.ControllerNamespace, Name: v1alpha1.ControllerDeploymentName}
}

func (r *Reconciler) defaultTenantKey() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Settings.AITenantNamespace, Name: v1alpha1.DefaultAITenantName}
}

func (r *Reconciler) defaultConfigKey() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Settings.DefaultTenantNamespace, Name: v1alpha1.DefaultTenantConfigName}
}

// stop ends the reconcile: something else has to happen first.
func (s *scope) stop(value conditions.Value, again time.Duration) {
	s.stopped, s.again = true, again
	s.judge(value)
}

// judge settles what Ready will say. The first one to find something wrong counts.
func (s *scope) judge(value conditions.Value) {
	if s.ready.Status == "" {
		s.ready = value
	}
}

// fail is judge for what somebody has to act on.
func (s *scope) fail(reason v1alpha1.ConditionReason, message string) {
	s.judge(conditions.False(reason, message))
}

// note adds a sentence once.
func (s *scope) note(sentence string) {
	if !slices.Contains(s.notes, sentence) {
		s.notes = append(s.notes, sentence)
	}
}

// report turns an error into the condition and decides whether to try again.
func (s *scope) report(err error) error {
	if err == nil {
		if !s.stopped {
			slices.Sort(s.notes)
			s.judge(conditions.True(v1alpha1.ReasonPlatformReady, strings.Join(s.notes, " ")))
		}
		return nil
	}
	if user, ok := apperr.AsUser(err); ok {
		s.fail(v1alpha1.ConditionReason(user.Reason), user.Message)
		return nil
	}
	if !apierrors.IsConflict(err) {
		s.judge(conditions.Unknown(v1alpha1.ReasonReconcileFailed, "The installation could not be brought up to date; see the controller's log. What is there stays as it is."))
	}
	return err
}

// next says when to look again without an event.
func (s *scope) next(regular time.Duration) time.Duration {
	if s.again > 0 {
		return s.again
	}
	return regular
}
