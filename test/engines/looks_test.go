// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// unnoticed is for how long it is looked that Kuadrant does nothing: many times what it
// takes to answer.
const unnoticed = 5 * time.Second

// What controllers/nudge goes by: a status that is not what Kuadrant would say stays,
// whatever becomes of the policy's metadata, until an annotation of any route changes.
func TestKuadrantJudgesAllAgainWhenARouteChanges(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s := newSite(ctx, t)
	kuadrant, err := engines.StartKuadrant(ctx, engines.KuadrantOptions{Kubeconfig: s.env.Kubeconfig(), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	stopping(t, kuadrant.Stop)
	limits := s.policy("v1alpha1", "TokenRateLimitPolicy", map[string]any{"limits": map[string]any{
		"all": map[string]any{"rates": []any{map[string]any{"limit": int64(10), "window": "1m"}}},
	}})
	other := s.route.DeepCopy()
	other.ResourceVersion, other.UID, other.Name = "", "", "other"
	s.create(ctx, t, limits, other)
	s.awaitEnforced(ctx, t, limits)
	s.awaitQuiet(ctx, t, s.route, other)

	s.patch(ctx, t, s.admin.Status().Patch, limits, `{"status":{"conditions":[
		{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2030-01-01T00:00:00Z"},
		{"type":"Enforced","status":"False","reason":"Unknown","message":"lost","lastTransitionTime":"2030-01-01T00:00:00Z"}]}}`)
	annotation := fmt.Sprintf(`{"metadata":{"annotations":{%q:"2030-01-01T00:00:00Z"}}}`, v1alpha1.AnnotationNudgedAt)
	write := func(ctx context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
		return s.admin.Patch(ctx, o, p)
	}
	s.patch(ctx, t, write, limits, annotation)
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, unnoticed, true, func(ctx context.Context) (bool, error) {
		return s.enforced(ctx, limits)
	})
	if !wait.Interrupted(err) {
		t.Fatalf("Kuadrant said of the policy that it is enforced, or that could not be read: %v", err)
	}
	s.patch(ctx, t, write, other, annotation)
	s.awaitEnforced(ctx, t, limits)
}

// patch changes an object by one of the client's ways to.
func (s *site) patch(ctx context.Context, t *testing.T, write func(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error, o client.Object, change string) {
	t.Helper()
	if err := write(ctx, o, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		t.Fatal(err)
	}
}

// awaitQuiet waits until nothing has become of routes for a while: as long as something
// does, Kuadrant judges anyway.
func (s *site) awaitQuiet(ctx context.Context, t *testing.T, routes ...client.Object) {
	t.Helper()
	versions := map[string]string{}
	since := time.Now()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 3*eventually, true, func(ctx context.Context) (bool, error) {
		for _, route := range routes {
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return false, err
			}
			if name, version := route.GetName(), route.GetResourceVersion(); versions[name] != version {
				versions[name], since = version, time.Now()
			}
		}
		return time.Since(since) > unnoticed, nil
	})
	if err != nil {
		t.Fatalf("the routes do not come to rest: %v", err)
	}
}

// enforced tells whether Kuadrant says that a policy is.
func (s *site) enforced(ctx context.Context, policy *unstructured.Unstructured) (bool, error) {
	if err := s.admin.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
		return false, err
	}
	conditions, err := status.Conditions(policy)
	return meta.IsStatusConditionTrue(conditions, "Enforced"), err
}
