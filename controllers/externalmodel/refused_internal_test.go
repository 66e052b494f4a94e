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

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// W-29: what cannot be read may be a namespace, and a host that ends in it a Service.
func TestANamespaceThatCannotBeReadIsNotAbsent(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("the cache does not answer")
	for name, test := range map[string]struct {
		host        string
		failing     bool
		wantRefused bool
		wantErr     bool
	}{
		"a namespace":                  {host: "minio.storage", wantRefused: true},
		"no namespace":                 {host: "minio.elsewhere"},
		"one that cannot be read":      {host: "minio.storage", failing: true, wantErr: true},
		"a host that asks for none":    {host: "a.b.c.example.com", failing: true},
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
