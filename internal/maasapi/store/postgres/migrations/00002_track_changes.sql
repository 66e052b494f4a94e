-- Copyright The maas-operator Authors.
-- SPDX-License-Identifier: Apache-2.0
--
-- Lets readers ask which keys have changed since they asked last.

-- +goose Up
SET LOCAL lock_timeout = '2s';
SET LOCAL client_min_messages = 'warning';

-- The transaction that wrote what validation reads; NULL: before this migration.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS changed_xid BIGINT;

-- Room for noting the use of keys in place.
ALTER TABLE api_keys SET (fillfactor = 75);

CREATE TABLE IF NOT EXISTS api_key_tombstones (
    key_hash    TEXT        NOT NULL,
    tenant      TEXT        NOT NULL,
    deleted_xid BIGINT      NOT NULL,
    deleted_at  TIMESTAMPTZ NOT NULL DEFAULT NOW()
);
CREATE INDEX IF NOT EXISTS idx_api_key_tombstones_tenant_deleted ON api_key_tombstones (tenant, deleted_xid);
CREATE INDEX IF NOT EXISTS idx_api_key_tombstones_deleted_at ON api_key_tombstones (deleted_at);

-- The epoch is part of the history that positions of readers belong to: with another
-- one, all of them load everything again.
CREATE TABLE IF NOT EXISTS maas_api_state (
    singleton BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (singleton),
    epoch     UUID    NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO maas_api_state DEFAULT VALUES ON CONFLICT DO NOTHING;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION maas_api_history() RETURNS TEXT LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    history TEXT;
BEGIN
    -- Without the triggers nothing would tell of a revocation: then no reader may
    -- believe that it knows of all changes.
    IF (SELECT count(*) FROM pg_trigger
        WHERE tgrelid = to_regclass('api_keys') AND tgname LIKE 'maas\_api\_keys\_%' AND tgenabled IN ('A', 'O')) < 5 THEN
        RAISE EXCEPTION 'a trigger of table api_keys is missing or disabled' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    -- A server that was started again may have lost the last transactions, and give
    -- their ids to others.
    SELECT concat_ws('/', (SELECT oid FROM pg_database WHERE datname = current_database()), to_regclass('api_keys')::oid,
                     (SELECT epoch FROM maas_api_state), extract(epoch FROM pg_postmaster_start_time()))
    INTO history;
    -- Not every kind of server tells these.
    BEGIN
        history := history || '/' || (SELECT system_identifier FROM pg_control_system());
    EXCEPTION WHEN OTHERS THEN
        history := history || '/-';
    END;
    BEGIN
        history := history || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN OTHERS THEN
        history := history || '/-';
    END;
    RETURN history;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION maas_api_stamp_key() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_xid := pg_current_xact_id()::TEXT::BIGINT;
    -- The server sends equal notifications of a transaction once. A shorter digest
    -- would not be available everywhere.
    PERFORM pg_notify('maas_keys', encode(sha256(convert_to(NEW.tenant, 'UTF8')), 'hex'));
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION maas_api_bury_keys() RETURNS TRIGGER LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO api_key_tombstones (key_hash, tenant, deleted_xid)
    SELECT key_hash, tenant, pg_current_xact_id()::TEXT::BIGINT FROM gone;
    PERFORM pg_notify('maas_keys', encode(sha256(convert_to(tenant, 'UTF8')), 'hex')) FROM (SELECT DISTINCT tenant FROM gone) AS tenants;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION maas_api_bury_former_key() RETURNS TRIGGER LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO api_key_tombstones (key_hash, tenant, deleted_xid)
    VALUES (OLD.key_hash, OLD.tenant, pg_current_xact_id()::TEXT::BIGINT);
    PERFORM pg_notify('maas_keys', encode(sha256(convert_to(OLD.tenant, 'UTF8')), 'hex'));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION maas_api_begin_epoch() RETURNS TRIGGER LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE maas_api_state SET epoch = gen_random_uuid();
    PERFORM pg_notify('maas_keys', '');
    RETURN NULL;
END
$$;
-- +goose StatementEnd

DROP TRIGGER IF EXISTS maas_api_keys_added ON api_keys;
CREATE TRIGGER maas_api_keys_added BEFORE INSERT ON api_keys
    FOR EACH ROW EXECUTE FUNCTION maas_api_stamp_key();

-- The columns that validation reads. Noting the use of a key is none of its business.
DROP TRIGGER IF EXISTS maas_api_keys_changed ON api_keys;
CREATE TRIGGER maas_api_keys_changed
    BEFORE UPDATE OF id, username, name, key_hash, status, user_groups, expires_at, subscription, tenant ON api_keys
    FOR EACH ROW EXECUTE FUNCTION maas_api_stamp_key();

DROP TRIGGER IF EXISTS maas_api_keys_moved ON api_keys;
CREATE TRIGGER maas_api_keys_moved AFTER UPDATE OF key_hash, tenant ON api_keys
    FOR EACH ROW WHEN (OLD.key_hash IS DISTINCT FROM NEW.key_hash OR OLD.tenant IS DISTINCT FROM NEW.tenant)
    EXECUTE FUNCTION maas_api_bury_former_key();

DROP TRIGGER IF EXISTS maas_api_keys_deleted ON api_keys;
CREATE TRIGGER maas_api_keys_deleted AFTER DELETE ON api_keys REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION maas_api_bury_keys();

DROP TRIGGER IF EXISTS maas_api_keys_truncated ON api_keys;
CREATE TRIGGER maas_api_keys_truncated AFTER TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION maas_api_begin_epoch();

-- Also for what replication writes.
ALTER TABLE api_keys ENABLE ALWAYS TRIGGER maas_api_keys_added;
ALTER TABLE api_keys ENABLE ALWAYS TRIGGER maas_api_keys_changed;
ALTER TABLE api_keys ENABLE ALWAYS TRIGGER maas_api_keys_moved;
ALTER TABLE api_keys ENABLE ALWAYS TRIGGER maas_api_keys_deleted;
ALTER TABLE api_keys ENABLE ALWAYS TRIGGER maas_api_keys_truncated;
