-- Copyright The maas-operator Authors.
-- SPDX-License-Identifier: Apache-2.0
--
-- Tells tenants of the same name apart, and keeps the keys of one that is gone only
-- for a while.

-- +goose Up
SET LOCAL lock_timeout = '2s';
SET LOCAL client_min_messages = 'warning';

CREATE TABLE IF NOT EXISTS tenants (
    name          TEXT        PRIMARY KEY,
    uid           TEXT        NOT NULL,
    registered_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
);

-- UIDs that a tenant of the name had before: their processes must not come back.
CREATE TABLE IF NOT EXISTS tenant_predecessors (
    tenant      TEXT        NOT NULL,
    uid         TEXT        NOT NULL,
    replaced_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    PRIMARY KEY (tenant, uid)
);

-- Set when a key ended with its tenant.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS invalidated_at TIMESTAMPTZ;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS invalidation_reason TEXT;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS purge_after TIMESTAMPTZ;
