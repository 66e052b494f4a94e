// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// MaxValidateBody is the largest body of a validation request, in bytes.
const MaxValidateBody = 4 << 10

// Keys are the keys of the tenant.
type Keys interface {
	// Get returns a key in whatever status, or [apikey.ErrNotFound]. Every other
	// error means that it cannot be told.
	Get(ctx context.Context, digest apikey.Digest) (*apikey.Record, error)
	// Now is the time to judge expiry by.
	Now() time.Time
}

// Usage notes that a key was used.
type Usage interface {
	Seen(id string, at time.Time)
}

// ValidateOptions are the settings of a [Validate]. All must be set; the tenant
// may be empty.
type ValidateOptions struct {
	Keys       Keys
	Usage      Usage
	Tenant     string
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Validate tells whether an API key is good, and whose it is.
type Validate struct {
	o                     ValidateOptions
	valid, invalid, fault prometheus.Counter
	refusals              map[apikey.Reason][]byte
	tenant                []byte
	buffers               sync.Pool
}

// buffer is the memory of one request.
type buffer struct {
	body  [MaxValidateBody + 1]byte
	reply []byte
}

// NewValidate returns the handler of the validation callback. Its metrics are
// registered.
func NewValidate(o ValidateOptions) (*Validate, error) {
	if o.Keys == nil || o.Usage == nil || o.Log == nil || o.Registerer == nil {
		return nil, errors.New("check options: keys, usage, log and registerer must be set")
	}
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "maas_api_key_validation_total",
		Help: "Validations of API keys, by tenant and result. Requests without a key are not counted.",
	}, []string{"tenant_name", "result"})
	if err := o.Registerer.Register(results); err != nil {
		return nil, fmt.Errorf("register metrics of validations: %w", err)
	}
	v := &Validate{
		o: o, tenant: appendText(nil, o.Tenant), refusals: map[apikey.Reason][]byte{},
		valid:   results.WithLabelValues(o.Tenant, "valid"),
		invalid: results.WithLabelValues(o.Tenant, "invalid"),
		fault:   results.WithLabelValues(o.Tenant, "error"),
		buffers: sync.Pool{New: func() any { return &buffer{reply: make([]byte, 0, 1024)} }},
	}
	for _, reason := range []apikey.Reason{
		apikey.ReasonFormat, apikey.ReasonNotFound, apikey.ReasonRevokedOrExpired, apikey.ReasonNoSubscription,
	} {
		// Whose key it was is not told.
		reply := appendText([]byte(`{"valid":false,"tenant":"","reason":`), string(reason))
		v.refusals[reason] = append(reply, '}')
	}
	return v, nil
}

// Routes returns the route of the callback.
func (v *Validate) Routes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodPost, Pattern: "/internal/v1/api-keys/validate", Audience: httpapi.Internal,
		Handler: v, MaxBody: MaxValidateBody, NoStore: true, Quiet: true,
	}}
}

// ServeHTTP answers one validation.
func (v *Validate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := v.buffers.Get().(*buffer)
	defer v.put(b)
	body, err := read(r.Body, b.body[:])
	if errors.Is(err, errTooLarge) {
		httpapi.WriteTooLarge(w, httpapi.FamilyFlat, MaxValidateBody)
		return
	}
	// A body that broke off is none.
	key, ok := keyOf(body)
	if !ok || len(bytes.TrimSpace(key)) == 0 {
		httpapi.WriteError(w, http.StatusBadRequest, "key is required")
		return
	}
	// A string of its own would be one more copy of the key that nobody wipes.
	digest, err := apikey.Parse(unsafe.String(unsafe.SliceData(key), len(key))) //nolint:gosec // Parse keeps nothing of it.
	if err != nil {
		v.refuse(w, apikey.ReasonFormat)
		return
	}
	record, err := v.o.Keys.Get(r.Context(), digest)
	switch {
	case errors.Is(err, apikey.ErrNotFound):
		v.refuse(w, apikey.ReasonNotFound)
	case err != nil:
		v.fail(w)
	default:
		v.judge(w, r, b, record)
	}
}

// judge answers for a key that exists.
func (v *Validate) judge(w http.ResponseWriter, r *http.Request, b *buffer, record *apikey.Record) {
	now := v.o.Keys.Now()
	if reason := record.Refusal(now); reason != "" {
		v.refuse(w, reason)
		return
	}
	// The id stands for the caller in the gateway's caches and limits.
	if uuid.Validate(record.ID) != nil {
		v.o.Log.ErrorContext(r.Context(), "Refusing an API key, because the id of its row is no UUID")
		v.fail(w)
		return
	}
	v.o.Usage.Seen(record.ID, now)
	v.valid.Inc()
	b.reply = v.appendValid(b.reply[:0], record)
	httpapi.WriteBytes(w, http.StatusOK, b.reply)
}

func (v *Validate) appendValid(dst []byte, k *apikey.Record) []byte {
	dst = appendText(append(dst, `{"valid":true,"userId":`...), k.ID)
	dst = appendText(append(dst, `,"username":`...), k.Username)
	dst = appendText(append(dst, `,"keyId":`...), k.ID)
	dst = appendText(append(dst, `,"keyName":`...), k.Name)
	dst = append(dst, `,"groups":[`...)
	for i, group := range k.Groups {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, group)
	}
	dst = appendText(append(dst, `],"subscription":`...), k.Subscription)
	dst = append(append(dst, `,"tenant":`...), v.tenant...)
	if !k.ExpiresAt.IsZero() {
		dst = append(dst, `,"expiresAt":"`...)
		dst = append(k.ExpiresAt.UTC().AppendFormat(dst, time.RFC3339), '"')
	}
	return append(dst, '}')
}

func (v *Validate) refuse(w http.ResponseWriter, reason apikey.Reason) {
	v.invalid.Inc()
	httpapi.WriteBytes(w, http.StatusOK, v.refusals[reason])
}

func (v *Validate) fail(w http.ResponseWriter) {
	v.fault.Inc()
	httpapi.WriteError(w, http.StatusInternalServerError, "validation failed")
}

// put wipes the body, which holds a key, before the memory is used again.
func (v *Validate) put(b *buffer) {
	clear(b.body[:])
	v.buffers.Put(b)
}

var (
	errTooLarge = errors.New("the body is too large")
	errBroken   = errors.New("the body broke off")
)

// read fills the buffer, which has one byte more than is allowed.
func read(body io.Reader, into []byte) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	n := 0
	for n < len(into) {
		more, err := body.Read(into[n:])
		n += more
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return into[:n], nil
		}
		if err != nil {
			return nil, errBroken
		}
	}
	return nil, errTooLarge
}
