// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// TestItIsAskedWhetherTheCredentialIsGranted has failure A54: it must be told before there
// is traffic.
func TestItIsAskedWhetherTheCredentialIsGranted(t *testing.T) {
	t.Parallel()
	account, down := types.NamespacedName{Namespace: "gateways", Name: "payload-processing"}, errors.New("down")
	for name, tc := range map[string]struct {
		processing, allowed bool
		secret              string
		err                 error
		asks                bool
		denied              types.NamespacedName
	}{
		"granted":                    {processing: true, allowed: true, secret: "key", asks: true},
		"not granted":                {processing: true, secret: "key", asks: true, denied: account},
		"without payload processing": {secret: "key"},
		"without a Secret":           {processing: true},
		"without an answer":          {processing: true, secret: "key", err: down, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []authorizationv1.SubjectAccessReviewSpec
			c := fakecluster.Holding(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					review, ok := object.(*authorizationv1.SubjectAccessReview)
					if !ok {
						t.Errorf("%T was created", object)
						return nil
					}
					asked = append(asked, review.Spec)
					review.Status.Allowed = tc.allowed
					return tc.err
				},
			}).Build()
			s := &scope{model: &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "gpt"}}}
			s.facts.Secret, s.input.Gateway = tc.secret, types.NamespacedName{Namespace: account.Namespace, Name: "gateway"}
			err := (&Reconciler{Client: c, PayloadProcessing: tc.processing}).askGranted(t.Context(), s)
			if !errors.Is(err, tc.err) || s.facts.Denied != tc.denied {
				t.Errorf("error = %v, denied %q, want %q", err, s.facts.Denied, tc.denied)
			}
			var want []authorizationv1.SubjectAccessReviewSpec
			if tc.asks {
				want = []authorizationv1.SubjectAccessReviewSpec{{
					User: "system:serviceaccount:gateways:payload-processing", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:gateways", "system:authenticated"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "llm", Verb: "get", Version: "v1", Resource: "secrets", Name: "key"},
				}}
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}
