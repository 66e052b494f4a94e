// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIKeyCleanup feeds tenant/cronjob-maas-api-key-cleanup, which has a tenant's
// maas-api delete expired keys.
type MaaSAPIKeyCleanup struct {
	// Meta is the CronJob's metadata.
	Meta Meta
	// PodLabels are the labels of the pods.
	PodLabels map[string]string
	// ServiceAccount is the name of the pods' ServiceAccount. It has no rights, and the
	// pods get no token.
	ServiceAccount string
	// RunAsUser is the user id of the process, or empty where the platform chooses it.
	RunAsUser []int64
	// URL is the address of the tenant's maas-api.
	URL string
	// Resources are what a pod may use.
	Resources Resources
	// Authority is where the certificate authority is by which maas-api's certificate
	// is verified.
	Authority Authority
}

// KeyRevocationJob feeds tenant/job-maas-api-revoke-keys, which revokes the keys of
// a tenant that is being deleted.
type KeyRevocationJob struct {
	// Meta is the Job's metadata.
	Meta Meta
	// PodLabels are the labels of the pods.
	PodLabels map[string]string
	// ServiceAccount is the name of the pods' ServiceAccount. It has no rights, and the
	// pods get no token.
	ServiceAccount string
	// RunAsUser is the user id of the process, or empty where the platform chooses it.
	RunAsUser []int64
	// TenantName is the tenant's name, as maas-api knows it.
	TenantName string
	// TenantUID is the UID of the AITenant.
	TenantUID string
	// RetentionDays is how long the rows of the revoked keys are kept.
	RetentionDays int64
	// DatabaseSecret is the name of the Secret with the database's address, and
	// DatabaseKey its key.
	DatabaseSecret string
	// DatabaseKey is explained at DatabaseSecret.
	DatabaseKey string
	// Resources are what a pod may use.
	Resources Resources
	// Authority is where the certificate authority is that signs the certificates of
	// services. The Job does without when it is gone.
	Authority Authority
}
