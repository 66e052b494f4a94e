// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// wantClean fails if an error, however it is printed, holds one of the texts.
func wantClean(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v"} {
		printed := fmt.Sprintf(format, err)
		for _, text := range texts {
			if strings.Contains(printed, text) {
				t.Errorf("the error shows %q: %s", text, printed)
			}
		}
	}
}

func TestFailuresToConnectShowNothingOfTheURL(t *testing.T) {
	t.Parallel()
	const user, password, host, database = "sensitiveuser", "sensitivepassword", "sensitive.invalid", "sensitivedb"
	for name, url := range map[string]string{
		"host not known":    "postgres://" + user + ":" + password + "@" + host + "/" + database,
		"nothing listens":   "postgres://" + user + ":" + password + "@127.0.0.1:1/" + database,
		"password refused":  "postgres://" + user + ":" + password + "@" + server.Address() + "/" + database + "?sslmode=disable",
		"TLS not offered":   "postgres://" + user + ":" + password + "@" + server.Address() + "/" + database + "?sslmode=require",
		"no scheme":         user + ":" + password + "@" + host + "/" + database,
		"port is no number": "postgres://" + user + ":" + password + "@" + host + ":sensitiveport/" + database,
		"not escaped":       "postgres://" + user + ":" + password + "%zz@" + host + "/" + database,
		"other scheme":      "mysql://" + user + ":" + password + "@" + host + "/" + database,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			_, err := Open(t.Context(), Options{
				URL: url, Tenant: tenant, StartTimeout: 300 * time.Millisecond,
				Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: fastClock{}, Registerer: prometheus.NewRegistry(),
			})
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got error %v", err)
			}
			wantClean(t, err, "sensitive")
			if strings.Contains(log.String(), "sensitive") {
				t.Errorf("the log shows it: %s", &log)
			}
			o := migrateOptions(t, url)
			o.StartTimeout = 100 * time.Millisecond
			wantClean(t, Migrate(t.Context(), o), "sensitive")
		})
	}
}

// fastClock makes reports due at once.
type fastClock struct{ clock.RealClock }

func (fastClock) Now() time.Time { return now().Add(time.Duration(now().UnixNano()) * 1000) }

func TestWaitingForTheDatabaseIsReportedAndEnds(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	_, err := Open(t.Context(), Options{
		URL: "postgres://127.0.0.1:1/none?sslmode=disable", Tenant: tenant, StartTimeout: 500 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: fastClock{}, Registerer: prometheus.NewRegistry(),
	})
	if err == nil || !strings.Contains(err.Error(), "nothing listens at its address") {
		t.Errorf("got error %v", err)
	}
	if !strings.Contains(log.String(), "Waiting for the database") {
		t.Errorf("nobody is told: %s", &log)
	}
}

func TestErrorsOfTheServerKeepTheirCodeAndNamesOfTheSchemaOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer pgconn.PgError
		want   string
	}{
		"a value that violates a constraint": {
			pgconn.PgError{Code: "23505", Message: "sensitive", Detail: "sensitive", TableName: "api_keys", ConstraintName: "c"},
			"do it: database: there is such a row already, table api_keys, constraint c (SQLSTATE 23505)",
		},
		"a value that is none": {
			pgconn.PgError{Code: "22P02", Message: "sensitive"}, "do it: database: it refused (SQLSTATE 22P02)",
		},
		"a right that is missing": {
			pgconn.PgError{Code: "42501", Message: "permission denied for schema public"},
			"do it: database: the user lacks a right: permission denied for schema public (SQLSTATE 42501)",
		},
	} {
		err := clean("do it", fmt.Errorf("wrapped: %w", &tc.answer))
		if err.Error() != tc.want {
			t.Errorf("%s: got %q, want %q", name, err, tc.want)
		}
		wantClean(t, err, "sensitive")
	}
}

func TestTheEndOfAContextIsFoundInAnError(t *testing.T) {
	t.Parallel()
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		wantError(t, clean("do it", fmt.Errorf("wrapped: %w", want)), want)
	}
}

func TestAnAdministratorIsToldWhatRightIsMissing(t *testing.T) {
	t.Parallel()
	url, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, sqlConn(t, server.AdminURL(config.Database)), "ALTER DATABASE "+config.Database+" OWNER TO postgres")
	err = Migrate(t.Context(), migrateOptions(t, url))
	if err == nil || !strings.Contains(err.Error(), "permission denied for schema public") {
		t.Errorf("got error %v", err)
	}
}
