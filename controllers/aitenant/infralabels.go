// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// labelInfraNamespace gives the infrastructure namespace the labels by which the
// Gateway admits routes. The tenant is set up without them too; the condition Degraded
// says what is wrong.
func (r *Reconciler) labelInfraNamespace(ctx context.Context, s *scope) error {
	err := r.labelFor(ctx, s)
	user, isUser := apperr.AsUser(err)
	switch {
	case err == nil:
		s.unset(v1alpha1.ConditionDegraded)
		return nil
	case apierrors.IsConflict(err):
		return err // Another tenant was faster: its record must not be lost.
	case isUser:
		s.set(v1alpha1.ConditionDegraded, conditions.True(user.Reason, user.Message))
		return nil
	default:
		s.postponed = errors.Join(s.postponed, err)
		s.set(v1alpha1.ConditionDegraded, conditions.True(v1alpha1.ReasonInfraNamespaceLabelFailed,
			"The infrastructure namespace could not be labelled for the Gateway; see the controller's log."))
		return nil
	}
}

func (r *Reconciler) labelFor(ctx context.Context, s *scope) error {
	wanted, err := aitenant.SelectorLabels(s.gateway)
	if err != nil {
		return err
	}
	ns, err := r.infraNamespace(ctx)
	switch {
	case err != nil:
		return err
	case ns == nil && len(wanted) == 0:
		return nil
	case ns == nil:
		return apperr.Userf(v1alpha1.ReasonInfraNamespaceLabelFailed, "Namespace %s does not exist, so it cannot be labelled for Gateway %s.", r.Settings.Tenant.InfraNamespace, s.wanted)
	}
	labelled := ns.DeepCopy()
	if err := aitenant.LabelForGateway(labelled, s.wanted, wanted); err != nil {
		return err
	}
	return patch(ctx, r, ns, labelled)
}

// unlabelFor takes off the infrastructure namespace what is there for one Gateway alone.
// An annotation that cannot be read stops nothing: it has to be corrected by hand.
func (r *Reconciler) unlabelFor(ctx context.Context, gateway types.NamespacedName) error {
	ns, err := r.infraNamespace(ctx)
	if err != nil || ns == nil {
		return err
	}
	unlabelled := ns.DeepCopy()
	err = aitenant.UnlabelForGateway(unlabelled, gateway)
	if user, ok := apperr.AsUser(err); ok {
		ctrl.LoggerFrom(ctx).Info("Leaving labels of the infrastructure namespace behind", "reason", user.Message)
		return nil
	}
	if err != nil {
		return err
	}
	return patch(ctx, r, ns, unlabelled)
}

// infraNamespace reads the namespace of maas-api; nil when there is none.
func (r *Reconciler) infraNamespace(ctx context.Context) (*corev1.Namespace, error) {
	ns, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: r.Settings.Tenant.InfraNamespace}, &corev1.Namespace{})
	if err != nil {
		return nil, fmt.Errorf("read the infrastructure namespace: %w", err)
	}
	return ns, nil
}
