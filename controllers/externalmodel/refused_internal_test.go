// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// W-29: what cannot be read may be a namespace, and a host that ends in it a Service.
func TestANamespaceThatCannotBeReadIsNotAbsent(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("the cache does not answer")
	for name, test := range map[string]struct {
		host, tls   string
		failing     bool
		wantRefused bool
		wantErr     bool
	}{
		"a namespace":                  {host: "minio.storage", wantRefused: true},
		"no namespace":                 {host: "minio.elsewhere"},
		"one that cannot be read":      {host: "minio.storage", failing: true, wantErr: true},
		"a host that asks for none":    {host: "a.b.c.example.com", failing: true},
		"a Pod without TLS":            {host: "0.minio.storage", tls: "false", wantRefused: true},
		"a typo in the annotation":     {host: "0.minio.storage", tls: "maybe"},
		"a host that is refused as is": {host: "127.0.0.1", failing: true, wantRefused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := fakecluster.Holding(clientgoscheme.Scheme, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "storage"}}).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
					if test.failing {
						return unreadable
					}
					return c.Get(ctx, key, object, opts...)
				},
			}).Build()
			model := &v1alpha1.ExternalModel{Spec: v1alpha1.ExternalModelSpec{Endpoint: test.host}}
			if test.tls != "" {
				metav1.SetMetaDataAnnotation(&model.ObjectMeta, v1alpha1.AnnotationTLS, test.tls)
			}
			refused, err := (&Reconciler{Client: reader}).refused(t.Context(), model)
			if (err != nil) != test.wantErr || test.wantErr && !errors.Is(err, unreadable) {
				t.Errorf("refused() error = %v, want one = %t", err, test.wantErr)
			}
			if (refused != "") != test.wantRefused && !test.wantErr {
				t.Errorf("refused() = %q, want refused = %t", refused, test.wantRefused)
			}
		})
	}
}

// TestWhatLeadsToARefusedHostGoes holds also for a model whose spec is not valid: its author
// could keep it otherwise.
func TestWhatLeadsToARefusedHostGoes(t *testing.T) {
	t.Parallel()
	broken := apperr.Userf(v1alpha1.ReasonInvalidSpec, "The annotations are wrong.")
	for name, tc := range map[string]struct {
		host        string
		theirs      bool
		wantRefused bool
		wantStays   bool
	}{
		"a provider":                       {host: "api.example.com", wantStays: true},
		"the cluster":                      {host: "minio.storage.svc", wantRefused: true},
		"a provider, of the other group":   {host: "api.example.com", theirs: true, wantStays: true},
		"the cluster, of the other group":  {host: "minio.storage.svc", theirs: true, wantRefused: true},
		"nobody knows, of the other group": {theirs: true, wantStays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "gpt", Annotations: map[string]string{v1alpha1.AnnotationTLS: "maybe"}}}
			m.Spec = v1alpha1.ExternalModelSpec{Endpoint: tc.host}
			of := subject{own: m}
			if tc.theirs {
				of = subject{theirs: &inferencev1alpha1.ExternalModel{ObjectMeta: m.ObjectMeta}, acts: true, untranslated: broken}
				of.translation.Model = m
			}
			s := newScope(of)
			if err := (&Reconciler{Client: fakecluster.Holding(clientgoscheme.Scheme).Build()}).judge(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if refused := s.facts.Refused != ""; s.facts.Invalid == nil || refused != tc.wantRefused || s.broken() != tc.wantStays {
				t.Errorf("invalid: %v, refused %q, stays: %t, want it invalid, refused: %t, stays: %t", s.facts.Invalid, s.facts.Refused, s.broken(), tc.wantRefused, tc.wantStays)
			}
		})
	}
}
