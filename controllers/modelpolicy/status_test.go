// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

func TestATransitionIsToldOnceItIsWritten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refusal error
		want    int
	}{
		"a status that is written":        {nil, 1},
		"a write that met a newer object": {apierrors.NewConflict(schema.GroupResource{Resource: "maasmodelrefs"}, "granite", nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			ref := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite"}}
			conditions.Set(&ref.Status.Conditions, v1alpha1.ConditionPoliciesApplied, 1, conditions.True(v1alpha1.ReasonPoliciesApplied, ""))
			c := fakecluster.Holding(scheme, ref).WithStatusSubresource(ref).WithInterceptorFuncs(interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if tc.refusal != nil {
						return tc.refusal
					}
					return c.SubResource(sub).Patch(ctx, o, patch, opts...)
				},
			}).Build()
			live := &v1alpha1.MaaSModelRef{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(ref), live); err != nil {
				t.Fatal(err)
			}
			recorder := events.NewFakeRecorder(10)
			r := &Reconciler{Client: c, Events: recorder}
			err := r.finish(t.Context(), &scope{ref: live, before: live.DeepCopy(), applied: conditions.False(v1alpha1.ReasonApplyFailed, "Refused.")})
			if (err == nil) != (tc.refusal == nil) || len(recorder.Events) != tc.want {
				t.Errorf("finish() = %v with %d events, want %d", err, len(recorder.Events), tc.want)
			}
		})
	}
}
