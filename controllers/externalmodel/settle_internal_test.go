// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// TestAFailedDeletionIsTriedAgain is about an upgrade: the status names the route of the
// earlier release, by which the rest is found, until all of it is gone.
func TestAFailedDeletionIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		learns func(*scope)
		want   string
	}{
		"the own route is there": {func(s *scope) { s.route = &unstructured.Unstructured{} }, "maas-gpt"},
		"the host is refused":    {func(s *scope) { s.facts.Refused = "is an IP address" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs := &inferencev1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "gpt", UID: "u"}}
			theirs.Status.HTTPRouteName = "gpt"
			former := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "gpt", OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(theirs, inferencev1alpha1.GroupVersion.WithKind(v1alpha1.KindExternalModel)),
			}}}
			down := errors.New("the webhook does not answer")
			failing := down
			c := fakecluster.Holding(parts.Scheme(t), theirs, former).WithStatusSubresource(theirs).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
					if failing != nil {
						return failing
					}
					return c.Delete(ctx, object, opts...)
				},
			}).Build()
			r := &Reconciler{Client: c, APIReader: c, Events: events.NewFakeRecorder(10)}
			// looked is what comes of one look, and the route that the status names then.
			looked := func() (string, error) {
				live := &inferencev1alpha1.ExternalModel{}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(theirs), live); err != nil {
					t.Fatal(err)
				}
				of := subject{theirs: live, acts: true}
				of.translation.Model = &v1alpha1.ExternalModel{ObjectMeta: live.ObjectMeta}
				s := newScope(of)
				tc.learns(s)
				err := s.report(r.retire(t.Context(), s))
				if failed := r.finish(t.Context(), s, err); failed != nil {
					t.Fatal(failed)
				}
				return live.Status.HTTPRouteName, err
			}
			if route, err := looked(); !errors.Is(err, down) || route != "gpt" {
				t.Errorf("after a failure: route %q, error %v, want that of the earlier release and the failure", route, err)
			}
			failing = nil
			if route, err := looked(); err != nil || route != tc.want {
				t.Errorf("after that: route %q, error %v, want %q", route, err, tc.want)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(former), &corev1.Service{}); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("what the earlier release made: %v, want it gone", err)
			}
		})
	}
}
