// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "github.com/opendatahub-io/maas-operator/test/internal/rights"

// rarelyUsed are rights of the operator that the specs of this suite do not
// exercise, with the reason each is held. A right that is neither used nor
// listed here is one too many.
var rarelyUsed = map[rights.Right]string{
	"kuadrant.io/authpolicies create":             "an apply that creates needs it, and is logged as a patch",
	"kuadrant.io/authpolicies get":                "reads past the cache after a conflict",
	"kuadrant.io/tokenratelimitpolicies create":   "an apply that creates needs it, and is logged as a patch",
	"kuadrant.io/tokenratelimitpolicies get":      "reads past the cache after a conflict",
	"events.k8s.io/events patch":                  "counts an event that repeats",
	"config.openshift.io/authentications get":     "the token audience, on OpenShift only",
	"maas.opendatahub.io/maasauthpolicies patch":  "removes the finalizer of an earlier release",
	"maas.opendatahub.io/maassubscriptions patch": "removes the finalizer of an earlier release",
	"kuadrant.io/authpolicies update":             "takes over what another manager owns in a policy",
	"kuadrant.io/tokenratelimitpolicies update":   "takes over what another manager owns in a policy",
}
