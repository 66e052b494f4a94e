// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// recorder is a client that keeps the body of each status patch.
func recorder(t *testing.T, objs ...client.Object) (client.Client, *[]map[string]any) {
	t.Helper()
	var patches []map[string]any
	c := fakecluster.Holding(scheme.Scheme, objs...).WithStatusSubresource(objs...).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				data, err := patch.Data(obj)
				if err != nil {
					return err
				}
				if patch.Type() != types.MergePatchType || sub != "status" {
					t.Errorf("patch of type %s on %q", patch.Type(), sub)
				}
				body := map[string]any{}
				if err := json.Unmarshal(data, &body); err != nil {
					return err
				}
				patches = append(patches, body)
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
	return c, &patches
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "llm"},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func read(t *testing.T, c client.Client) *corev1.Namespace {
	t.Helper()
	var ns corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: "llm"}, &ns); err != nil {
		t.Fatal(err)
	}
	return &ns
}

func TestAnUnchangedStatusIsNotWritten(t *testing.T) {
	t.Parallel()
	c, patches := recorder(t, namespace())
	before := read(t, c)
	after := before.DeepCopy()
	after.Status.Conditions = []corev1.NamespaceCondition{}
	after.Labels = map[string]string{"changed": "outside the status"}

	if differs, err := conditions.StatusDiffers(before, after); differs || err != nil {
		t.Errorf("differs = %v, err = %v", differs, err)
	}
	wrote, err := conditions.PatchStatus(t.Context(), c, before, after)

	if err != nil || wrote || len(*patches) != 0 {
		t.Errorf("wrote = %v, err = %v, patches = %v", wrote, err, *patches)
	}
}

func TestAChangedStatusIsWrittenOnceWithItsVersion(t *testing.T) {
	t.Parallel()
	c, patches := recorder(t, namespace())
	before := read(t, c)
	after := before.DeepCopy()
	after.Status.Phase = corev1.NamespaceTerminating
	after.Labels = map[string]string{"changed": "outside the status"}

	if differs, err := conditions.StatusDiffers(before, after); !differs || err != nil {
		t.Errorf("differs = %v, err = %v", differs, err)
	}
	wrote, err := conditions.PatchStatus(t.Context(), c, before, after)

	if err != nil || !wrote {
		t.Fatalf("wrote = %v, err = %v", wrote, err)
	}
	want := []map[string]any{{
		"metadata": map[string]any{"resourceVersion": before.ResourceVersion},
		"status":   map[string]any{"phase": "Terminating"},
	}}
	if diff := cmp.Diff(want, *patches); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
	if got := read(t, c); got.Status.Phase != corev1.NamespaceTerminating || len(got.Labels) != 0 {
		t.Errorf("stored phase %q, labels %v", got.Status.Phase, got.Labels)
	}
}

func TestAStaleStatusIsRefused(t *testing.T) {
	t.Parallel()
	c, _ := recorder(t, namespace())
	before := read(t, c)
	concurrent := before.DeepCopy()
	concurrent.Labels = map[string]string{"someone": "else"}
	if err := c.Update(t.Context(), concurrent); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	after.Status.Phase = corev1.NamespaceTerminating

	_, err := conditions.PatchStatus(t.Context(), c, before, after)

	if !apierrors.IsConflict(err) {
		t.Errorf("err = %v, want a conflict", err)
	}
}
