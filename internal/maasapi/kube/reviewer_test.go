// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// authority answers access reviews: user root is an admin.
type authority struct {
	mu      sync.Mutex
	asked   []authorizationv1.SubjectAccessReviewSpec
	err     error
	waiting chan struct{} // Holds answers back, when there is one.
}

func (a *authority) reaction() react {
	return react{"create", "subjectaccessreviews", func(action ktesting.Action) (runtime.Object, error) {
		review := action.(ktesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		if a.waiting != nil {
			<-a.waiting
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, review.Spec)
		if a.err != nil {
			return nil, a.err
		}
		answer := review.DeepCopy()
		answer.Status.Allowed = review.Spec.User == "root"
		return answer, nil
	}}
}

func (a *authority) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

func newReviewer(tb testing.TB, size int, answers ...react) (*Reviewer, *clocktesting.FakeClock, *prometheus.Registry) {
	tb.Helper()
	c, registry := clocktesting.NewFakeClock(epoch), prometheus.NewRegistry()
	r, err := NewReviewer(ReviewerOptions{Clients: clients(answers...), Namespace: testTenant, CacheSize: size, Clock: c, Registerer: registry})
	if err != nil {
		tb.Fatal(err)
	}
	return r, c, registry
}

func isAdmin(tb testing.TB, r *Reviewer, c entitlement.Caller) bool {
	tb.Helper()
	admin, err := r.IsAdmin(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return admin
}

func TestAnAdminIsWhoMayCreateAuthPolicies(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, _ := newReviewer(t, 0, a.reaction())
	if !isAdmin(t, r, caller(t, "root", "b", "a")) || isAdmin(t, r, caller(t, "alice")) {
		t.Error("root is no admin, or alice is one")
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "root", Groups: []string{"system:authenticated", "b", "a"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: testTenant, Verb: "create", Group: "maas.opendatahub.io", Resource: "maasauthpolicies",
		},
	}
	if diff := cmp.Diff(want, a.asked[0]); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

func TestNobodyIsNoAdminAndIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, registry := newReviewer(t, 0, a.reaction())
	if isAdmin(t, r, entitlement.Caller{}) || a.count() != 0 || lookups(t, registry) != "0 hits, 0 misses" {
		t.Errorf("%d questions, %s", a.count(), lookups(t, registry))
	}
}

func lookups(tb testing.TB, registry *prometheus.Registry) string {
	tb.Helper()
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		counts[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue()
	}
	return fmt.Sprintf("%v hits, %v misses", counts["sar_cache_hits_total"], counts["sar_cache_misses_total"])
}

func TestAnswersAreRememberedPerNameAndGroups(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, registry := newReviewer(t, 0, a.reaction())
	for _, c := range []entitlement.Caller{
		caller(t, "root", "a", "b"), caller(t, "root", "b", "a"), // One.
		caller(t, "root", "a"), caller(t, "alice", "a"), caller(t, "root", "ab"), caller(t, "roota", "b"), // Others.
	} {
		isAdmin(t, r, c)
	}
	if a.count() != 5 || lookups(t, registry) != "1 hits, 5 misses" {
		t.Errorf("%d questions, %s", a.count(), lookups(t, registry))
	}
}

func TestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user      string
		remember  time.Duration
		questions int
	}{
		"a yes counts for half a minute":        {"root", 29 * time.Second, 1},
		"a yes does not count any longer":       {"root", 31 * time.Second, 2},
		"a no counts for two seconds":           {"alice", 1900 * time.Millisecond, 1},
		"a no does not count any longer either": {"alice", 2100 * time.Millisecond, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &authority{}
			r, clock, _ := newReviewer(t, 0, a.reaction())
			isAdmin(t, r, caller(t, test.user))
			clock.Step(test.remember)
			isAdmin(t, r, caller(t, test.user))
			if a.count() != test.questions {
				t.Errorf("%d questions, want %d", a.count(), test.questions)
			}
		})
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	t.Parallel()
	a := &authority{err: errDown}
	r, _, registry := newReviewer(t, 0, a.reaction())
	if admin, err := r.IsAdmin(t.Context(), caller(t, "root")); admin || !errors.Is(err, errDown) {
		t.Errorf("IsAdmin() = %t, %v", admin, err)
	}
	a.mu.Lock()
	a.err = nil
	a.mu.Unlock()
	if !isAdmin(t, r, caller(t, "root")) || a.count() != 2 || lookups(t, registry) != "0 hits, 2 misses" {
		t.Errorf("%d questions, %s", a.count(), lookups(t, registry))
	}
}

func TestACancelledRequestAsksNothing(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, _ := newReviewer(t, 0, a.reaction())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if admin, err := r.IsAdmin(ctx, caller(t, "root")); admin || !errors.Is(err, context.Canceled) || a.count() != 0 {
		t.Errorf("IsAdmin() = %t, %v after %d questions", admin, err, a.count())
	}
}

func TestAFullCacheForgetsWhoWasAskedAboutLongestAgo(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, _ := newReviewer(t, 2, a.reaction())
	first, second, third := caller(t, "root", "1"), caller(t, "root", "2"), caller(t, "root", "3")
	for _, c := range []entitlement.Caller{first, second, first, third, first, third} {
		isAdmin(t, r, c)
	}
	if a.count() != 3 {
		t.Errorf("%d questions, want one for each of three callers", a.count())
	}
	isAdmin(t, r, second)
	if a.count() != 4 {
		t.Errorf("%d questions, want another one about the caller that was forgotten", a.count())
	}
}

// Ten requests of one caller that come together ask once; when the first of them goes
// away, the others still get the answer.
func TestSimultaneousQuestionsAboutOneCallerAreAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &authority{waiting: make(chan struct{})}
		r, _, _ := newReviewer(t, 0, a.reaction())
		impatient, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := r.IsAdmin(impatient, caller(t, "root"))
			left <- err
		}()
		synctest.Wait()
		var admins atomic.Int32
		var group sync.WaitGroup
		for range 9 {
			group.Go(func() {
				if admin, err := r.IsAdmin(t.Context(), caller(t, "root")); err == nil && admin {
					admins.Add(1)
				}
			})
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the impatient one got %v", err)
		}
		close(a.waiting)
		group.Wait()
		if admins.Load() != 9 || a.count() != 1 {
			t.Errorf("%d admins of 9 after %d questions", admins.Load(), a.count())
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	var sent []string
	reviews := react{"create", "tokenreviews", func(action ktesting.Action) (runtime.Object, error) {
		review := action.(ktesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		sent = append(sent, review.Spec.Token)
		switch review.Spec.Token {
		case "good":
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{Username: "alice", UID: "1", Groups: []string{"team", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"user:full"}}}
		case "anonymous":
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}
		case "nameless":
			review.Status.Authenticated = true
		case "down":
			return nil, errDown
		}
		return review, nil
	}}
	r, _, _ := newReviewer(t, 0, reviews)
	for token, want := range map[string]error{"good": nil, "bad": ErrUnauthenticated, "nameless": ErrUnauthenticated, "anonymous": ErrUnauthenticated, "down": errDown, "": ErrUnauthenticated, "sk-oai-secret": ErrUnauthenticated} {
		user, err := r.ReviewToken(t.Context(), token)
		if !errors.Is(err, want) || (err == nil) != (user.Username != "") {
			t.Errorf("ReviewToken(%s) = %+v, %v", token, user, err)
		}
		wantUser := User{Username: "alice", UID: "1", Groups: []string{"team", "system:authenticated"}, Extra: map[string][]string{"scopes": {"user:full"}}}
		if diff := cmp.Diff(wantUser, user); token == "good" && diff != "" {
			t.Errorf("user (-want +got):\n%s", diff)
		}
	}
	for _, token := range sent {
		if strings.HasPrefix(token, "sk-oai-") || token == "" {
			t.Errorf("an API key was sent to the API server")
		}
	}
}

func TestAUserOfTheClusterIsWhoMayAskForTheirOwnRights(t *testing.T) {
	t.Parallel()
	a := &authority{}
	r, _, _ := newReviewer(t, 0, a.reaction())
	user := User{Username: "root", UID: "1", Groups: []string{"team"}, Extra: map[string][]string{"scopes": {"user:full"}}}
	if may, err := r.MayUseCluster(t.Context(), user); !may || err != nil {
		t.Errorf("MayUseCluster() = %t, %v", may, err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "root", UID: "1", Groups: []string{"team"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"user:full"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	}
	if diff := cmp.Diff(want, a.asked[0]); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

func TestAReviewerNeedsSensibleOptions(t *testing.T) {
	t.Parallel()
	good := ReviewerOptions{Clients: clients(), Namespace: testTenant, Clock: clocktesting.NewFakeClock(epoch), Registerer: prometheus.NewRegistry()}
	for name, change := range map[string]func(*ReviewerOptions){
		"no clients":         func(o *ReviewerOptions) { o.Clients = nil },
		"no clock":           func(o *ReviewerOptions) { o.Clock = nil },
		"no registerer":      func(o *ReviewerOptions) { o.Registerer = nil },
		"no namespace":       func(o *ReviewerOptions) { o.Namespace = "" },
		"a negative size":    func(o *ReviewerOptions) { o.CacheSize = -1 },
		"a negative timeout": func(o *ReviewerOptions) { o.Timeout = -1 },
	} {
		o := good
		change(&o)
		if _, err := NewReviewer(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewReviewer(good); err != nil {
		t.Error(err)
	}
	if _, err := NewReviewer(good); err == nil {
		t.Error("metrics were registered twice without an error")
	}
	if n := testutil.CollectAndCount(good.Registerer.(*prometheus.Registry)); n != 2 {
		t.Errorf("%d metrics", n)
	}
}
