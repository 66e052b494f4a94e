// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

func TestCreateBindsToASubscription(t *testing.T) {
	t.Parallel()
	// E-25, E-26, E-27.
	phase := func(name string, priority int32, p v1alpha1.Phase) *v1alpha1.MaaSSubscription {
		s := apikeytest.Subscription(name, priority)
		s.Status.Phase = p
		return s
	}
	deleting := func(name string, priority int32) *v1alpha1.MaaSSubscription {
		s := apikeytest.Subscription(name, priority)
		s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return s
	}
	foreign := apikeytest.Subscription("foreign", 99)
	foreign.Spec.Owner.Groups[0].Name = "others"
	subscriptions := []*v1alpha1.MaaSSubscription{
		apikeytest.Subscription("free", 1), apikeytest.Subscription("premium", 9), foreign,
		phase("failed", 50, v1alpha1.PhaseFailed), phase("new", 49, ""), phase("odd", 48, v1alpha1.PhaseInvalid), deleting("going", 47),
		phase("pending", 0, v1alpha1.PhasePending), phase("degraded", 0, v1alpha1.PhaseDegraded),
	}
	const unresolved = "Unable to resolve a subscription for this API key"
	tests := map[string]struct {
		actor       apikey.Actor
		requested   string
		want        string
		wantKind    apikey.Kind
		wantCode    string
		wantMessage string
	}{
		"without a wish, the highest priority that is in order": {want: "premium"},
		"the one asked for":        {requested: "free", want: "free"},
		"qualified, the bare name": {requested: "models-as-a-service/free", want: "free"},
		"one that is pending":      {requested: "pending", want: "pending"},
		"one that is degraded":     {requested: "degraded", want: "degraded"},
		"an unknown one": {
			requested: "unknown", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"one of others": {
			requested: "foreign", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"one of another namespace": {
			requested: "elsewhere/free", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"no name": {
			requested: "a b'--", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"a NUL": {
			requested: "free\x00", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"none at all": {
			actor:    apikey.Actor{Username: "mallory", Groups: []string{"nobodies"}},
			wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"one that failed": {
			requested: "failed", wantKind: apikey.KindForbidden, wantCode: apikey.CodeSubscriptionNotReady,
			wantMessage: "subscription is in Failed phase (cannot create API keys)",
		},
		"one that was never looked at": {
			requested: "new", wantKind: apikey.KindInvalid, wantCode: apikey.CodeSubscriptionNotReady,
			wantMessage: "subscription is unreconciled (no status.phase set)",
		},
		"one of another phase": {
			requested: "odd", wantKind: apikey.KindInvalid, wantCode: apikey.CodeSubscriptionNotReady,
			wantMessage: "subscription is in Invalid phase (cannot create API keys)",
		},
		"one that is being deleted": {
			requested: "going", wantKind: apikey.KindInvalid, wantCode: apikey.CodeSubscriptionNotReady,
			wantMessage: "subscription is being deleted",
		},
		"a key makes keys of its own": {
			actor: apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team}, Key: true, Digest: heldDigest, Subscription: "free"}, want: "free",
		},
		"which it may name": {
			actor:     apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team}, Key: true, Digest: heldDigest, Subscription: "free"},
			requested: "free", want: "free",
		},
		"a key makes keys of no other": {
			actor:     apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team}, Key: true, Digest: heldDigest, Subscription: "free"},
			requested: "premium", wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
		"a key that came without its subscription makes none": {
			actor:    apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team}, Key: true, Digest: heldDigest},
			wantKind: apikey.KindInvalid, wantCode: apikey.CodeInvalidSubscription, wantMessage: unresolved,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Subscriptions = apikeytest.Index(subscriptions...) })
			w.Held.Hold(t, held, "alice", 0)
			actor := test.actor
			if actor.Username == "" {
				actor = apikeytest.Member("alice")
			}
			got, err := w.Create(t.Context(), actor, apikey.CreateRequest{Name: "k", Subscription: test.requested})
			if test.want != "" {
				if err != nil || got.Key.Subscription != test.want {
					t.Errorf("Create: %q, %v; want %q", got.Key.Subscription, err, test.want)
				}
				return
			}
			if kind, code, message := apikeytest.CodeOf(t, err); kind != test.wantKind || code != test.wantCode || message != test.wantMessage {
				t.Errorf("Create: %v, %q, %q; want %v, %q, %q", kind, code, message, test.wantKind, test.wantCode, test.wantMessage)
			}
			if inserted := w.Store.Calls("Insert"); inserted != 0 {
				t.Errorf("%d keys were stored", inserted)
			}
		})
	}
}

// undecided is what decides about subscriptions before they are loaded.
type undecided struct{}

func (undecided) Mint(entitlement.Caller, string) (*v1alpha1.MaaSSubscription, error) {
	return nil, errors.New("caches are not synced")
}

func TestCreateWaitsForSubscriptions(t *testing.T) {
	t.Parallel()
	for name, subscriptions := range map[string]apikey.Subscriptions{"not loaded": undecided{}, "none in this process": nil} {
		w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Subscriptions = subscriptions })
		_, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k"})
		if kind, code, _ := apikeytest.CodeOf(t, err); kind != apikey.KindUnavailable || code != apikey.CodeNotReady {
			t.Errorf("%s: %v", name, err)
		}
		if got := w.Counter(t, mints, "failure"); got != 1 {
			t.Errorf("%s: %v failures are counted, want 1", name, got)
		}
	}
}
