// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// removed are variables that something once set and nothing reads now.
func removed() map[string]string {
	return map[string]string{
		"AITENANT_NAME":      "TENANT_NAME names the tenant",
		"AITENANT_NAMESPACE": "maas-api reads no AITenants",
		DatabaseSecretKey:    "the database URL comes from Secret " + DatabaseSecret + " or from DATABASE_URL_FILE",
		"DATABASE_URL":       "the database URL comes from Secret " + DatabaseSecret + " or from DATABASE_URL_FILE",
	}
}

// families are the beginnings of names that only maas-api uses, so that a name
// unknown to it is a slip of the pen.
func families() []string {
	return []string{
		"ACCESS_CHECK_", "API_KEY_", "DB_", "DATABASE_", "DISCOVERY_ENABLE_", "GATEWAY_", "INTERNAL_ADDR", "KEY_CACHE_",
		"KEY_POLL_", "LAST_USED_", "MAAS_SUBSCRIPTION_", "OTEL_TRACES_SAMPLE_", "PROBE_", "SAR_CACHE_", "SHUTDOWN_", "TENANT_", "TLS_",
	}
}

// unknownVariables warns of variables that look like settings and are none.
func unknownVariables(environment map[string]string) []string {
	known := map[string]bool{}
	for _, s := range Settings() {
		known[s.Env] = true
	}
	gone := removed()
	// Kubernetes sets these for every Service of a namespace.
	serviceLink := regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if known[name] {
			continue
		}
		if instead, found := gone[name]; found {
			warnings = append(warnings, name+" is set but has no effect: "+instead)
			continue
		}
		ours := slices.ContainsFunc(families(), func(family string) bool { return strings.HasPrefix(name, family) })
		if ours && !serviceLink.MatchString(name) {
			warnings = append(warnings, name+" is set but is no setting of maas-api: check its spelling")
		}
	}
	return warnings
}
