// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// SQLSTATE codes that something depends on.
const (
	codeSerialization    = "40001"
	codeDeadlock         = "40P01"
	codeLockNotAvailable = "55P03"
	codeUndefinedTable   = "42P01"
	classSchema          = "42"
)

// meanings say in words what an administrator should know about some codes.
//
//nolint:gochecknoglobals // A table that nobody changes.
var meanings = map[string]string{
	"08P01":              "what answers does not accept the connection's settings",
	"23505":              "there is such a row already",
	"25006":              "it accepts no changes",
	"28000":              "it refuses the user",
	"28P01":              "it refuses the user or the password",
	"3D000":              "there is no database of that name",
	"42501":              "the user lacks a right",
	"53300":              "it has too many connections",
	"57014":              "the statement took too long and was ended",
	"57P01":              "it is shutting down",
	"57P03":              "it is starting or shutting down",
	codeDeadlock:         "transactions waited for each other",
	codeLockNotAvailable: "another transaction holds what is needed",
	codeSerialization:    "transactions disturbed each other",
	codeUndefinedTable:   "a table is missing: run the migrations",
}

// Error says what could not be done with the database, and why, in words of this
// package: nothing of the statement's values, of the database's address or of
// its user. errors.Is finds context.Canceled and context.DeadlineExceeded in it.
type Error struct {
	// Operation is what was being done.
	Operation string
	// Code is the SQLSTATE of the server's answer; empty when there was none.
	Code string
	// Reason is a phrase.
	Reason string

	cause error
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Operation + ": database: " + e.Reason
	if e.Code != "" {
		text += " (SQLSTATE " + e.Code + ")"
	}
	return text
}

// Unwrap returns what ended the context, if that was the cause.
func (e *Error) Unwrap() error { return e.cause }

// clean turns an error of the driver into one that may be shown. Errors of this
// service stay as they are.
func clean(operation string, err error) error {
	var cleaned *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &cleaned), errors.Is(err, apikey.ErrNotFound), errors.Is(err, apikey.ErrTenantReplaced),
		errors.Is(err, apikey.ErrEmptyScope), errors.Is(err, ErrUnfinished), errors.Is(err, ErrNewer):
		return err
	}
	return &Error{Operation: operation, Code: codeOf(err), Reason: reason(err), cause: ending(err)}
}

// ending is what ended the context, if that is why something failed.
func ending(err error) error {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return ended
		}
	}
	return nil
}

// codeOf is the SQLSTATE of an answer, or empty.
func codeOf(err error) string {
	var (
		answer  *pgconn.PgError
		cleaned *Error
	)
	switch {
	case errors.As(err, &answer):
		return answer.Code
	case errors.As(err, &cleaned):
		return cleaned.Code
	default:
		return ""
	}
}

func reason(err error) string {
	var (
		answer      *pgconn.PgError
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &answer):
		return meaning(answer)
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return "it did not answer in time"
	case errors.As(err, &name):
		return "its host name is not known"
	case errors.As(err, &certificate):
		return "its certificate is not trusted, or not for that host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at its address"
	case errors.Is(err, errReplica):
		return "it is a replica that accepts no changes"
	case errors.Is(err, errTooOld):
		return "it is older than PostgreSQL 13"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "the connection broke"
	default:
		return "the connection cannot be made or used"
	}
}

// meaning describes an answer of the server. Its own text is shown only where it
// can hold nothing but names of the schema.
func meaning(answer *pgconn.PgError) string {
	text, known := meanings[answer.Code]
	if !known {
		text = "it refused"
	}
	if strings.HasPrefix(answer.Code, classSchema) && answer.Code != codeUndefinedTable {
		return text + ": " + answer.Message
	}
	for _, name := range []struct{ kind, value string }{
		{"table", answer.TableName}, {"column", answer.ColumnName}, {"constraint", answer.ConstraintName},
	} {
		if name.value != "" {
			text += ", " + name.kind + " " + name.value
		}
	}
	return text
}
