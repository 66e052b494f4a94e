-- Copyright The maas-operator Authors.
-- SPDX-License-Identifier: Apache-2.0
--
-- Makes the table api_keys as the earlier service has it at version 6, from nothing
-- or from any version before. Its indexes are not made here.

-- +goose Up
SET LOCAL lock_timeout = '2s';
SET LOCAL client_min_messages = 'warning';

CREATE TABLE IF NOT EXISTS api_keys (
    id           TEXT        PRIMARY KEY,
    username     TEXT        NOT NULL,
    name         TEXT        NOT NULL,
    description  TEXT,
    key_hash     TEXT        NOT NULL,
    status       TEXT        NOT NULL DEFAULT 'active'
        CONSTRAINT api_keys_status_check CHECK (status IN ('active', 'revoked', 'expired')),
    user_groups  TEXT[]      NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ
);

ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS ephemeral BOOLEAN NOT NULL DEFAULT FALSE;

-- Keys from before there were subscriptions have none: validation refuses them and
-- says so. The default only helps to add the column.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS subscription TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ALTER COLUMN subscription DROP DEFAULT;

ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS tenant TEXT NOT NULL DEFAULT 'models-as-a-service';
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS labels JSONB DEFAULT NULL;

-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_constraint WHERE conrelid = to_regclass('api_keys') AND conname = 'api_keys_labels_is_object'
    ) THEN
        ALTER TABLE api_keys ADD CONSTRAINT api_keys_labels_is_object
            CHECK (labels IS NULL OR jsonb_typeof(labels) = 'object');
    END IF;
END
$$;
-- +goose StatementEnd

CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT  NOT NULL PRIMARY KEY,
    dirty   BOOLEAN NOT NULL
);
DELETE FROM schema_migrations;
INSERT INTO schema_migrations (version, dirty) VALUES (6, FALSE);
