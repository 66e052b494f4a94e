// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

const (
	// defaultOIDCTTL is how long signing keys are cached when nothing is said, and
	// minOIDCTTL the shortest time, in seconds.
	defaultOIDCTTL = 300
	minOIDCTTL     = 30
)

func oidcOf(t *v1alpha1.AITenant) (*OIDC, error) {
	return oidc(t.Spec.OIDC, "AITenant "+t.Namespace+"/"+t.Name+": spec.oidc")
}

func legacyOIDC(t *v1alpha1.Tenant) (*OIDC, error) {
	return oidc(t.Spec.ExternalOIDC, "Tenant "+t.Namespace+"/"+t.Name+": spec.externalOIDC")
}

// oidc reads a provider's configuration. Admission refuses what is wrong here,
// but stored objects of earlier releases may hold it. The field stands before
// the name of what is wrong in it; the message repeats no value, for it is shown
// on models, to people who may not read the tenant.
func oidc(in *v1alpha1.TenantExternalOIDCConfig, field string) (*OIDC, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // A tenant without a provider is the rule.
	}
	ttl := int64(in.TTL)
	if ttl == 0 {
		ttl = defaultOIDCTTL
	}
	switch {
	case !validIssuer(in.IssuerURL):
		return nil, invalidOIDC(field + ".issuerUrl is no https URL of an issuer")
	case in.ClientID == "" || strings.ContainsFunc(in.ClientID, unicode.IsSpace):
		return nil, invalidOIDC(field + ".clientId is empty or contains white space")
	case ttl < minOIDCTTL:
		return nil, invalidOIDC(field + ".ttl is below 30 seconds")
	default:
		return &OIDC{IssuerURL: in.IssuerURL, ClientID: in.ClientID, TTLSeconds: ttl}, nil
	}
}

func validIssuer(issuer string) bool {
	if strings.ContainsFunc(issuer, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return false
	}
	parsed, err := url.Parse(issuer)
	return err == nil && parsed.Scheme == "https" && parsed.Host != "" && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
}

func invalidOIDC(what string) error {
	return apperr.User(v1alpha1.ReasonInvalidOIDC, what+": correct it, or remove the provider.")
}

// ignoredOIDC is the problem of a namespace in which both kinds of a tenant's
// settings exist: the newer one counts and cannot name a provider, so the older
// one's would disappear without a word.
func ignoredOIDC(n Namespace) error {
	return apperr.Userf(v1alpha1.ReasonInvalidOIDC,
		"Tenant %[1]s/%[2]s: spec.externalOIDC does not count beside MaasTenantConfig %[1]s/%[3]s, which no AITenant manages: set spec.oidc of the AITenant of the namespace, or remove the provider.",
		n.Name, n.Legacy.Name, v1alpha1.DefaultTenantConfigName)
}
