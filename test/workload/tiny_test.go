// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// tinyVariable makes the test binary the tiny program: what it says is done.
	tinyVariable = "TINY"
	// tinyPort is where it listens in its Pod.
	tinyPort = 8000

	tinyTimeout = 30 * time.Second
)

// tinyListeners is what the runner knows of its flags.
func tinyListeners(l workload.Line) []workload.Listener {
	if l.Env[tinyVariable] != "serve" {
		return nil
	}
	return []workload.Listener{{Port: tinyPort, Flag: "--address"}}
}

// tiny is the tiny program. It is told where to look by variables, and which flags it
// takes is for its modes to say: another one is an error.
func tiny(mode string) int {
	run, known := map[string]func() error{"serve": tinyServe, "call": tinyCall, "whoami": tinyWhoAmI}[mode]
	if !known {
		code, err := strconv.Atoi(mode)
		if err != nil {
			code = 2
		}
		return code
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tinyServe serves what a file says at /file, variables at /env, and /ready while a
// file says yes; with HTTPS if there is a certificate.
func tinyServe() error {
	if len(os.Args) != 2 || !strings.HasPrefix(os.Args[1], "--address=") {
		return fmt.Errorf("unknown flags: %q", os.Args[1:])
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		content, err := os.ReadFile(os.Getenv("FILE"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		_, _ = w.Write(content)
	})
	mux.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, os.Getenv(r.URL.Query().Get("name"))) //nolint:gosec // Only tests read it.
	})
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if content, err := os.ReadFile(os.Getenv("READY")); os.Getenv("READY") != "" && (err != nil || string(content) != "yes") {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Addr: strings.TrimPrefix(os.Args[1], "--address="), Handler: mux, ReadHeaderTimeout: tinyTimeout}
	if dir := os.Getenv("TLS"); dir != "" {
		return server.ListenAndServeTLS(dir+"/tls.crt", dir+"/tls.key")
	}
	return server.ListenAndServe()
}

// tinyCall succeeds if $URL answers 200, under a certificate of $CA.
func tinyCall() error {
	ctx, cancel := context.WithTimeout(context.Background(), tinyTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("URL"), http.NoBody)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if ca, err := os.ReadFile(os.Getenv("CA")); err == nil {
		roots.AppendCertsFromPEM(ca)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// tinyWhoAmI prints who the API server takes it for.
func tinyWhoAmI() error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := clientset.AuthenticationV1().SelfSubjectReviews().
		Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(review.Status.UserInfo)
}
