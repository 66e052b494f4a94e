// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	type body struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
		A     any    `json:"a"`
	}
	for name, tc := range map[string]struct {
		text    string
		want    string
		wantErr string // What the text for the client must say.
		wantIs  error
	}{
		"an object":                      {text: `{"name":"x"}`, want: "x"},
		"unknown members":                {text: `{"other":1,"name":"x"}`, want: "x"},
		"bytes behind the first value":   {text: `{"name":"x"} and {{{{`, want: "x"},
		"as deep as allowed":             {text: `{"name":"x","a":` + nested(31) + `}`, want: "x"},
		"brackets in a text":             {text: `{"name":"` + strings.Repeat("[", 100) + `"}`, want: strings.Repeat("[", 100)},
		"an escaped backslash and NUL":   {text: `{"name":"a\\u0000"}`, want: `a\u0000`},
		"an empty body":                  {text: ``, wantIs: httpapi.ErrEmpty},
		"white space only":               {text: " \n\t ", wantIs: httpapi.ErrEmpty},
		"too deep":                       {text: nested(33), wantErr: "nests deeper than 32"},
		"hostile, but few enough values": {text: `{"name":"x","more":[` + strings.Repeat("0,", httpapi.MaxValues-1) + `0]}`, want: "x"},
		"hostile number of values":       {text: `{"name":"x","more":[` + strings.Repeat("0,", httpapi.MaxValues) + `0]}`, wantErr: "more than 10000 values"},
		"hostile commas in a text":       {text: `{"more":"` + strings.Repeat(",", 2*httpapi.MaxValues) + `","name":"x"}`, want: "x"},
		"hostile depth":                  {text: strings.Repeat("[", 500_000), wantErr: "nests deeper than 32"},
		"NUL":                            {text: `{"name":"a\u0000b"}`, wantErr: "NUL"},
		"NUL behind an escape":           {text: `{"name":"a\\\u0000b"}`, wantErr: "NUL"},
		"a wrong type":                   {text: `{"count":"zzz"}`, wantErr: `"count"`},
		"an array for an object":         {text: `[]`, wantErr: "wrong type"},
		"no JSON":                        {text: `zzz`, wantErr: "no valid JSON"},
		"an object that ends early":      {text: `{"name":"zzz`, wantErr: "ends too early"},
		"too large":                      {text: `"` + strings.Repeat("z", 2000) + `"`, wantIs: httpapi.ErrTooLarge},
		"too large behind the value":     {text: `{}` + strings.Repeat(" ", 2000) + "{}", wantIs: httpapi.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(tc.text))
			limit := int64(1500)
			if strings.HasPrefix(name, "hostile") {
				limit = 1 << 20
			}
			r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, limit)
			var got body
			err := httpapi.DecodeJSON(r, &got)
			var decode *httpapi.DecodeError
			switch {
			case tc.wantIs != nil:
				if !errors.Is(err, tc.wantIs) {
					t.Errorf("error = %v, want %v", err, tc.wantIs)
				}
			case tc.wantErr != "":
				if !errors.As(err, &decode) || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "zzz") {
					t.Errorf("error = %v, want a DecodeError with %q that repeats no value", err, tc.wantErr)
				}
			case err != nil || got.Name != tc.want:
				t.Errorf("decoded %q, %v; want %q", got.Name, err, tc.want)
			}
		})
	}
}

func TestDecodeJSONOfABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(strings.NewReader(`{"a":`), broken{}))
	var decode *httpapi.DecodeError
	if err := httpapi.DecodeJSON(r, &struct{}{}); !errors.As(err, &decode) {
		t.Errorf("error = %v, want a DecodeError", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestErrorFamilies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write func(w http.ResponseWriter)
		want  string
	}{
		"flat":        {func(w http.ResponseWriter) { httpapi.WriteError(w, 404, "gone") }, `404 {"error":"gone"}`},
		"coded":       {func(w http.ResponseWriter) { httpapi.WriteCoded(w, 400, "no", "c") }, `400 {"error":"no","code":"c"}`},
		"typed":       {func(w http.ResponseWriter) { httpapi.WriteTyped(w, 403, "no", httpapi.ClassPermission) }, `403 {"error":{"message":"no","type":"permission_error"}}`},
		"detailed":    {func(w http.ResponseWriter) { httpapi.WriteDetailed(w, 401, "a", "b") }, `401 {"error":"a","details":"b"}`},
		"flat 413":    {func(w http.ResponseWriter) { httpapi.WriteTooLarge(w, httpapi.FamilyFlat, 9) }, `413 {"error":"The request body is larger than 9 bytes"}`},
		"typed 413":   {func(w http.ResponseWriter) { httpapi.WriteTooLarge(w, httpapi.FamilyTyped, 9) }, `413 {"error":{"message":"The request body is larger than 9 bytes","type":"invalid_request_error"}}`},
		"details 413": {func(w http.ResponseWriter) { httpapi.WriteTooLarge(w, httpapi.FamilyDetailed, 9) }, `413 {"error":"Request Entity Too Large","details":"The request body is larger than 9 bytes"}`},
		"decision":    {func(w http.ResponseWriter) { httpapi.WriteTooLarge(w, httpapi.FamilyDecision, 9) }, `413 {"error":"bad_request","message":"The request body is larger than 9 bytes"}`},
		"typed 401":   {func(w http.ResponseWriter) { httpapi.WriteFamily(w, httpapi.FamilyTyped, 401, "a") }, `401 {"error":{"message":"a","type":"authentication_error"}}`},
		"typed 403":   {func(w http.ResponseWriter) { httpapi.WriteFamily(w, httpapi.FamilyTyped, 403, "a") }, `403 {"error":{"message":"a","type":"permission_error"}}`},
		"typed 500":   {func(w http.ResponseWriter) { httpapi.WriteFamily(w, httpapi.FamilyTyped, 500, "a") }, `500 {"error":{"message":"a","type":"server_error"}}`},
		"decides 500": {func(w http.ResponseWriter) { httpapi.WriteFamily(w, httpapi.FamilyDecision, 500, "a") }, `500 {"error":"internal_error","message":"a"}`},
		"empty body":  {func(w http.ResponseWriter) { httpapi.WriteDecodeError(w, httpapi.FamilyFlat, httpapi.ErrEmpty) }, `400 {"error":"The request body is empty; send a JSON object"}`},
		"large body":  {func(w http.ResponseWriter) { httpapi.WriteDecodeError(w, httpapi.FamilyFlat, httpapi.ErrTooLarge) }, `413 {"error":"The request body is too large"}`},
		"decode":      {func(w http.ResponseWriter) { httpapi.WriteDecodeError(w, 0, httpapi.NewDecodeError("x")) }, `400 {"error":"x"}`},
		"unknown":     {func(w http.ResponseWriter) { httpapi.WriteDecodeError(w, 0, errors.New("dsn")) }, `400 {"error":"The request body cannot be read"}`},
		"unencodable": {func(w http.ResponseWriter) { httpapi.WriteJSON(w, 200, func() {}) }, `500 `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			tc.write(w)
			if diff := cmp.Diff(tc.want, status(w)+" "+w.Body.String()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
