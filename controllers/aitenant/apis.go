// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// gateways may be missing when the manager starts and appear later.
func gateways() facts.API {
	return facts.API{
		GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "Gateway"},
		CRD:       "gateways." + gwapiv1.GroupName,
		Versions:  []string{"v1"},
	}
}
