// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// The kinds of others that this controller reads. Each may be missing when it
// starts and appear later.
var (
	llmInferenceServices = facts.API{GroupKind: kserve.GroupKind, CRD: kserve.Resource, Versions: kserve.Versions()}

	httpRoutes = facts.API{
		GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "HTTPRoute"},
		CRD:       "httproutes." + gwapiv1.GroupName,
		Versions:  []string{"v1"},
	}

	gateways = facts.API{
		GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "Gateway"},
		CRD:       "gateways." + gwapiv1.GroupName,
		Versions:  []string{"v1"},
	}

	inferenceExternalModels = facts.API{
		GroupKind: schema.GroupKind{Group: inferencev1alpha1.GroupName, Kind: "ExternalModel"},
		CRD:       "externalmodels." + inferencev1alpha1.GroupName,
		Versions:  []string{inferencev1alpha1.GroupVersion.Version},
	}
)
