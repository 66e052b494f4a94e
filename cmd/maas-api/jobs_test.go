// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
)

func TestCleanupOfARunningService(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		trust   bool
		url     string // Instead of the server's.
		wantErr string
	}{
		"done": {trust: true, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"deletedCount":3,"message":"m"}`))
		}},
		"a certificate of nobody":    {answer: func(http.ResponseWriter, *http.Request) {}, wantErr: "certificate"},
		"refused":                    {trust: true, answer: http.NotFound, wantErr: "404 Not Found"},
		"failed":                     {trust: true, answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, wantErr: "500"},
		"sent elsewhere":             {trust: true, answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusTemporaryRedirect) }, wantErr: "307"},
		"an answer of somebody else": {trust: true, answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, wantErr: "another form"},
		"no URL":                     {url: "maas-api:8443", wantErr: "--url is no URL"},
		"a URL with a password":      {url: "https://u:hunter2@h", wantErr: "--url is no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Method + " " + r.URL.Path
				tc.answer(w, r)
			}))
			t.Cleanup(server.Close)
			var out bytes.Buffer
			in := invocation{URL: server.URL, Out: &out}
			if tc.url != "" {
				in.URL = tc.url
			}
			if tc.trust {
				in.CAFile = filepath.Join(t.TempDir(), "ca.crt")
				block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
				if err := os.WriteFile(in.CAFile, block, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := cleanup(t.Context(), in)
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("error %v, want %q", err, tc.wantErr)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error repeats the password: %v", err)
			}
			if tc.trust && asked != "POST /internal/v1/api-keys/cleanup" {
				t.Errorf("asked for %q", asked)
			}
			if err == nil && !strings.Contains(out.String(), `"keys":3`) {
				t.Errorf("log: %s", &out)
			}
		})
	}
}

func TestDatabaseURLFromAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text    string
		want    string
		wantErr string
	}{
		"a URL with a line break": {text: "postgres://u:hunter2@h/d\n", want: "postgres://u:hunter2@h/d"},
		"another database":        {text: "mysql://u:hunter2@h/d", wantErr: "invalid database URL"},
		"an empty file":           {text: "", wantErr: "invalid database URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := databaseURL(t.Context(), invocation{Result: config.Result{Config: config.Config{Database: config.Database{DatabaseURLFile: file}}}}, nil, nil)
			if got != tc.want || (err == nil) != (tc.wantErr == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWhatWaitingDoesNotHeal(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"no Secret":         {apierrors.NewNotFound(secrets, "maas-db-config"), true},
		"no right":          {apierrors.NewForbidden(secrets, "maas-db-config", nil), true},
		"no identity":       {apierrors.NewUnauthorized(""), true},
		"no value":          {kube.ErrNoDatabaseURL, true},
		"no answer":         {errors.New("connection refused"), false},
		"a server too busy": {apierrors.NewTooManyRequests("", 1), false},
	} {
		if got := final(tc.err); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
