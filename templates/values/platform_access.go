// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIClusterRole feeds platform/clusterrole-maas-api: what every maas-api may do
// in the whole cluster.
type MaaSAPIClusterRole struct {
	// Meta is the role's metadata. It has no namespace.
	Meta Meta
	// ReadsTLSProfile allows reading the cluster's TLS profile, which only OpenShift
	// has. The operator holds that right, and may grant it, only there.
	ReadsTLSProfile bool
}

// KeyCleanupServiceAccount feeds platform/serviceaccount-maas-api-cleanup: what the
// jobs about keys run as. It has no rights and no token.
type KeyCleanupServiceAccount struct {
	// Meta is the ServiceAccount's metadata.
	Meta Meta
}
