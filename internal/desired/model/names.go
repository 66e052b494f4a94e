// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Ids of the templates of a model's policies.
const (
	AuthPolicyTemplate           render.ID = "model/authpolicy-maas-auth"
	TokenRateLimitPolicyTemplate render.ID = "model/tokenratelimitpolicy-maas-trlp"
)

// maxContributors bounds the list of contributors in an annotation, in bytes:
// all annotations of an object together may have 256 KiB.
const maxContributors = 96 << 10

const (
	authPolicyPrefix  = "maas-auth-"
	limitPolicyPrefix = "maas-trlp-"
)

// AuthPolicyName is the name of the AuthPolicy of a model.
func AuthPolicyName(model string) string { return authPolicyPrefix + model }

// TokenRateLimitPolicyName is the name of the TokenRateLimitPolicy of a model.
func TokenRateLimitPolicyName(model string) string { return limitPolicyPrefix + model }

// OfPolicyName returns the model whose generated policy has the given name.
func OfPolicyName(policy string) (string, bool) {
	for _, prefix := range []string{authPolicyPrefix, limitPolicyPrefix} {
		if model, ok := strings.CutPrefix(policy, prefix); ok && model != "" {
			return model, true
		}
	}
	return "", false
}

func labels(model types.NamespacedName, partOf, component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelModel:          model.Name,
		v1alpha1.LabelModelNamespace: model.Namespace,
		v1alpha1.LabelManagedBy:      v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:         partOf,
		v1alpha1.LabelComponent:      component,
	}
}

// contributors is the list of contributors for an annotation.
func contributors(keys []types.NamespacedName) string { return entitlement.List(keys, maxContributors) }
