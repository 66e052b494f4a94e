// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

// held is a key that callers come with.
const held = "sk-oai-parent_secret"

var heldDigest, _ = apikey.Parse(held)

func holderOf(username string) apikey.Actor {
	return apikey.Actor{
		Username: username, Groups: []string{apikeytest.Team},
		Key: true, Digest: heldDigest, Subscription: "free",
	}
}

func TestKeyMadeWithAKeyNeverOutlivesIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		life      time.Duration // Of the key it is made with; 0: for good.
		expiresIn string
		ephemeral bool
		want      time.Duration
		wantCode  string
	}{
		"nothing is asked for: as long as the key": {life: time.Hour, want: time.Hour},
		"less is asked for":                        {life: time.Hour, expiresIn: `"10m"`, want: 10 * time.Minute},
		"as much is asked for":                     {life: time.Hour, expiresIn: `"1h"`, want: time.Hour},
		"more is asked for":                        {life: time.Hour, expiresIn: `"61m"`, wantCode: apikey.CodeOutlivesKey},
		"the key outlives the default":             {life: 90 * 24 * time.Hour, want: 30 * 24 * time.Hour},
		"the key lives for good":                   {want: 30 * 24 * time.Hour},
		"an ephemeral one of a short-lived key":    {life: time.Minute, ephemeral: true, want: time.Minute},
		"the key has expired":                      {life: -time.Second, wantCode: apikey.CodeInvalidKey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			w.Held.Hold(t, held, "alice", test.life)
			request := apikey.CreateRequest{Name: "k", Ephemeral: test.ephemeral}
			if test.expiresIn != "" {
				request.ExpiresIn = json.RawMessage(test.expiresIn)
			}
			got, err := w.Create(t.Context(), holderOf("alice"), request)
			if test.wantCode != "" {
				if _, code, _ := apikeytest.CodeOf(t, err); code != test.wantCode {
					t.Errorf("Create: %v, want code %s", err, test.wantCode)
				}
				return
			}
			if life := got.Key.ExpiresAt.Sub(got.Key.CreatedAt); err != nil || life.Round(time.Millisecond) != test.want {
				t.Errorf("Create: a key that lives %v, %v; want %v", life, err, test.want)
			}
		})
	}
}

func TestKeysAreMadeWithOnesOwnKeyOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		owner string
		err   error
		want  string
	}{
		"of somebody else":         {owner: "bob", want: apikey.CodeInvalidKey},
		"unknown":                  {want: apikey.CodeInvalidKey},
		"that cannot be found out": {owner: "alice", err: errors.New("no database"), want: apikey.CodeNotReady},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			w.Held.Err = test.err
			if test.owner != "" {
				w.Held.Hold(t, held, test.owner, time.Hour)
			}
			_, err := w.Create(t.Context(), holderOf("alice"), apikey.CreateRequest{Name: "k"})
			if _, code, _ := apikeytest.CodeOf(t, err); code != test.want {
				t.Errorf("Create: %v, want code %s", err, test.want)
			}
			if w.Store.Calls("Insert") != 0 {
				t.Error("a key was stored nevertheless")
			}
		})
	}
}

func TestRefusedUseOfAKeyToMakeAnotherIsAudited(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		owner     string
		err       error
		expiresIn string
		want      []apikey.Result
	}{
		"a key of somebody else":             {owner: "bob", want: []apikey.Result{apikey.ResultDenied}},
		"a key that cannot be found out":     {owner: "alice", err: errors.New("no database"), want: []apikey.Result{apikey.ResultFailed}},
		"a life that breaks a rule: nothing": {owner: "alice", expiresIn: `"2h"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			w.Held.Err = test.err
			w.Held.Hold(t, held, test.owner, time.Hour)
			request := apikey.CreateRequest{Name: "k", Subscription: " free "}
			if test.expiresIn != "" {
				request.ExpiresIn = json.RawMessage(test.expiresIn)
			}
			if _, err := w.Create(t.Context(), holderOf("alice"), request); err == nil {
				t.Error("a key was made")
			}
			var want []apikey.AuditEvent
			for _, result := range test.want {
				want = append(want, apikey.AuditEvent{
					Action: apikey.ActionCreate, Result: result, Actor: "alice", Tenant: apikeytest.Tenant, TargetSubscription: "free",
				})
			}
			if diff := cmp.Diff(want, w.Audit.Events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("audited (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysAreMadeForTheSubscriptionOfTheKeyOnly(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	w.Held.Hold(t, held, "alice", time.Hour)
	actor := holderOf("alice")
	actor.Subscription = "premium" // Hers too, but not the key's.
	_, err := w.Create(t.Context(), actor, apikey.CreateRequest{Name: "k"})
	if _, code, _ := apikeytest.CodeOf(t, err); code != apikey.CodeInvalidKey {
		t.Errorf("Create: %v, want code %s", err, apikey.CodeInvalidKey)
	}
}

func TestWithoutRecordsNoKeyMakesAKey(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Records = nil })
	_, err := w.Create(t.Context(), holderOf("alice"), apikey.CreateRequest{Name: "k"})
	if _, code, _ := apikeytest.CodeOf(t, err); code != apikey.CodeNotReady {
		t.Errorf("Create: %v, want code %s", err, apikey.CodeNotReady)
	}
}
