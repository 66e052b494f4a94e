// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"log/slog"
)

// Action is what an audit record is about.
type Action string

// Actions that are recorded, whether they succeed or not.
const (
	ActionCreate       Action = "create"
	ActionRevoke       Action = "revoke"
	ActionBulkRevoke   Action = "bulk-revoke"
	ActionTenantRevoke Action = "tenant-revoke"
	ActionCleanup      Action = "cleanup"
	ActionPurge        Action = "purge"
)

// Result is what came of an action.
type Result string

// Results of actions.
const (
	// ResultSuccess: it was done.
	ResultSuccess Result = "success"
	// ResultDenied: the caller may not do it, or a rule about subscriptions, quotas
	// or tenants forbids it.
	ResultDenied Result = "denied"
	// ResultNotFound: there was no such key, or it was not active any more.
	ResultNotFound Result = "not_found"
	// ResultFailed: something of ours failed. A store that was cut off may have
	// done it nevertheless.
	ResultFailed Result = "failed"
)

// AuditEvent is one attempt to change keys. Names in it are in clear text: an
// [Auditor] must redact them.
type AuditEvent struct {
	Action Action
	Result Result
	// Actor is the user who asked; empty for the cluster's own jobs.
	Actor string
	// Tenant is the one whose keys are concerned.
	Tenant string
	// KeyID is the id of the one key concerned, where there is one. It is a key's
	// name, not its secret.
	KeyID string
	// TargetUser and TargetSubscription are what was asked for.
	TargetUser, TargetSubscription string
	// Count is how many keys were made, revoked or deleted.
	Count int64
}

// Auditor keeps a record of changes.
type Auditor interface {
	Audit(ctx context.Context, e AuditEvent)
}

// SlogAuditor writes audit records to a log, with every name redacted.
type SlogAuditor struct {
	log    *slog.Logger
	redact func(name string) string
}

// NewSlogAuditor returns an auditor that writes to log. Names of users and
// subscriptions pass through redact first.
func NewSlogAuditor(log *slog.Logger, redact func(name string) string) *SlogAuditor {
	return &SlogAuditor{log: log, redact: redact}
}

// jobs stands for the cluster's own jobs, which have no user.
const jobs = "internal"

// Audit implements [Auditor]. What was denied or failed is a warning.
func (a *SlogAuditor) Audit(ctx context.Context, e AuditEvent) {
	actor := jobs
	if e.Actor != "" {
		actor = a.redact(e.Actor)
	}
	attributes := []slog.Attr{
		slog.String("audit.action", string(e.Action)),
		slog.String("audit.result", string(e.Result)),
		slog.String("audit.actor", actor),
		slog.String("audit.tenant", e.Tenant),
	}
	if e.KeyID != "" {
		attributes = append(attributes, slog.String("audit.keyId", e.KeyID))
	}
	if e.Action == ActionBulkRevoke {
		attributes = append(attributes, slog.String("audit.targetUser", a.redact(e.TargetUser)))
	}
	if e.Action == ActionBulkRevoke || e.Action == ActionCreate {
		attributes = append(attributes, slog.String("audit.targetSubscription", a.redact(e.TargetSubscription)))
	}
	attributes = append(attributes, slog.Int64(counted(e.Action), e.Count))
	level := slog.LevelInfo
	if e.Result != ResultSuccess {
		level = slog.LevelWarn
	}
	a.log.LogAttrs(ctx, level, "AUDIT "+string(e.Action), attributes...)
}

// counted is the name of the member that holds an action's count.
func counted(a Action) string {
	switch a {
	case ActionCreate:
		return "audit.createdCount"
	case ActionCleanup, ActionPurge:
		return "audit.deletedCount"
	default:
		return "audit.revokedCount"
	}
}
