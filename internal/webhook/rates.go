// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// maxRateWarnings bounds what is said of one subscription.
const maxRateWarnings = 10

// adviseSubscription says which limits of a new subscription never decide anything.
func adviseSubscription(_ context.Context, req admission.Request) []string {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return nil
	}
	object, err := decode(req.Object.Raw)
	if err != nil {
		return nil
	}
	var s v1alpha1.MaaSSubscription
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &s); err != nil {
		return nil
	}
	var warnings []string
	for i := range s.Spec.ModelRefs {
		set, err := entitlement.RateSetOf(&s.Spec.ModelRefs[i])
		if err != nil {
			continue // The schema refuses that.
		}
		for _, idle := range set.Idle() {
			if len(warnings) == maxRateWarnings {
				return warnings
			}
			warnings = append(warnings, fmt.Sprintf("spec.modelRefs[%d].tokenRateLimits: %s has no effect, because %s decides: of limits whose windows are equally long only the smallest counts. Remove the first.",
				i, spoken(idle.Rate), spoken(idle.Decides)))
		}
	}
	return warnings
}

func spoken(rate v1alpha1.TokenRateLimit) string {
	return fmt.Sprintf("%d per %s", rate.Limit, rate.Window)
}
