// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Revocation is what has to happen to the API keys of an AITenant that is being
// deleted.
type Revocation int

const (
	// Revoke means that they may work still.
	Revoke Revocation = iota
	// Revoked means that a Job has revoked them.
	Revoked
	// RevokedByHand means that an administrator says so.
	RevokedByHand
	// NotItsKeys means that the keys of that tenant are not this AITenant's: it never
	// was in charge, and another one is or may be.
	NotItsKeys
)

// RevocationFacts are what tells whose the keys are.
type RevocationFacts struct {
	// Config is what the MaasTenantConfig of the tenant's namespace is to the AITenant;
	// [Nobodys] also when there is none.
	Config Ownership
	// Misplaced says that nothing may be made for the AITenant where it is.
	Misplaced bool
	// Rival says that another AITenant has the same name for maas-api.
	Rival bool
}

// RevocationOf decides about the keys of an AITenant that is being deleted. Keys are
// stored under the name of the tenant, so those of another AITenant must not be taken
// for its own; where that cannot be, they are revoked in doubt.
func RevocationOf(t *v1alpha1.AITenant, f RevocationFacts) Revocation {
	switch {
	case meta.IsStatusConditionTrue(t.Status.Conditions, string(v1alpha1.ConditionAPIKeysRevoked)):
		return Revoked
	case t.Annotations[v1alpha1.AnnotationAPIKeysRevoked] == "true":
		return RevokedByHand
	case f.Config == Ours || f.Config == Former:
		return Revoke
	case f.Config == Others || f.Rival || f.Misplaced:
		return NotItsKeys
	default:
		return Revoke
	}
}

// Tombstone remembers a tenant whose keys have to be revoked, in a ConfigMap that
// outlives the AITenant. Where there is one no successor of the tenant may start.
type Tombstone struct {
	// AITenant is the key of the AITenant, and UID its UID.
	AITenant types.NamespacedName
	UID      types.UID
	// Tenant is the name under which maas-api knows the tenant.
	Tenant string
	// RetentionDays is how long the rows of revoked keys are kept; 0 means the default.
	RetentionDays int32
}

// The data of a tombstone.
const (
	tombstoneName      = "aiTenantName"
	tombstoneNamespace = "aiTenantNamespace"
	tombstoneUID       = "aiTenantUID"
	tombstoneTenant    = "tenant"
	tombstoneRetention = "retentionDays"
)

// TombstoneName is the name of the tombstone of the AITenant with the UID.
func TombstoneName(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return "tenant-tombstone-" + hex.EncodeToString(sum[:])[:16]
}

// TombstoneLabels select tombstones.
func TombstoneLabels() map[string]string {
	return map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelTenantTombstone: "true"}
}

// Object is the ConfigMap of the tombstone in a namespace. It cannot be changed.
func (t Tombstone) Object(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"immutable": true,
		"data": map[string]any{
			tombstoneName: t.AITenant.Name, tombstoneNamespace: t.AITenant.Namespace, tombstoneUID: string(t.UID),
			tombstoneTenant: t.Tenant, tombstoneRetention: strconv.FormatInt(int64(t.RetentionDays), 10),
		},
	}}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	o.SetNamespace(namespace)
	o.SetName(TombstoneName(t.UID))
	labels := TombstoneLabels()
	labels[v1alpha1.LabelPartOf] = v1alpha1.PartOfTenant
	o.SetLabels(labels)
	return o
}

// TombstoneFrom reads a tombstone. What contradicts itself is an error: it could name
// a tenant that lives.
func TombstoneFrom(c *corev1.ConfigMap) (Tombstone, error) {
	t := Tombstone{
		AITenant: types.NamespacedName{Namespace: c.Data[tombstoneNamespace], Name: c.Data[tombstoneName]},
		UID:      types.UID(c.Data[tombstoneUID]), Tenant: c.Data[tombstoneTenant],
	}
	known := t.Tenant == t.AITenant.Name || t.Tenant == tenancy.DefaultName
	if t.UID == "" || t.AITenant.Name == "" || t.AITenant.Namespace == "" || !known || c.Name != TombstoneName(t.UID) {
		return Tombstone{}, fmt.Errorf("ConfigMap %s/%s is no tombstone of an AITenant: its data do not belong to its name", c.Namespace, c.Name)
	}
	days, err := strconv.ParseInt(c.Data[tombstoneRetention], 10, 32)
	if err != nil || days < 0 {
		days = 0 // The keys matter, not how long their rows stay.
	}
	t.RetentionDays = int32(days)
	return t, nil
}

// Context is the tenant as the Job needs it.
func (t Tombstone) Context() tenancy.Context {
	if t.Tenant == tenancy.DefaultName {
		return tenancy.Context{Name: t.Tenant}
	}
	return tenancy.Context{Name: t.Tenant, ID: t.Tenant}
}

// JobName is the name of the Job that revokes the keys.
func (t Tombstone) JobName() string { return tenancy.KeyRevocation(t.AITenant.Name) }

// Before tells whether another tombstone of the same tenant has to be done with first.
// Only one Job of a tenant runs at a time.
func (t Tombstone) Before(other Tombstone, made, otherMade time.Time) bool {
	if t.Tenant != other.Tenant && t.JobName() != other.JobName() || t.UID == other.UID {
		return false
	}
	if !made.Equal(otherMade) {
		return made.Before(otherMade)
	}
	return t.UID < other.UID
}

// JobState is how far the revocation by a Job is.
type JobState int

const (
	// JobMissing means that there is none.
	JobMissing JobState = iota
	// JobOthers means that there is one of another tenant, or of an earlier one of the
	// name. What it says proves nothing.
	JobOthers
	// JobEnding means that it is being deleted before it was done.
	JobEnding
	// JobRunning means that it is not done.
	JobRunning
	// JobComplete means that the keys are revoked.
	JobComplete
	// JobFailed means that it gave up.
	JobFailed
)

// JobStateOf reads the state off a Job, which may be nil.
func JobStateOf(job *batchv1.Job, uid types.UID) JobState {
	switch {
	case job == nil:
		return JobMissing
	case uid == "" || types.UID(job.Annotations[v1alpha1.AnnotationAITenantUID]) != uid:
		return JobOthers
	case jobSays(job, batchv1.JobComplete):
		return JobComplete
	case job.DeletionTimestamp != nil:
		return JobEnding
	case jobSays(job, batchv1.JobFailed):
		return JobFailed
	default:
		return JobRunning
	}
}

func jobSays(job *batchv1.Job, conditionType batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == conditionType && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

const (
	// shortestRetry and longestRetry bound the wait between two Jobs of a tombstone.
	shortestRetry = 30 * time.Second
	longestRetry  = 5 * time.Minute
	// ageToRetry is which part of its age a tombstone waits.
	ageToRetry = 10
)

// RetryAfter is how long to wait before the next Job of a tombstone of that age: a
// database that was away for a minute is asked soon, one that has been away for days
// now and then.
func RetryAfter(age time.Duration) time.Duration {
	return min(max(age/ageToRetry, shortestRetry), longestRetry)
}
