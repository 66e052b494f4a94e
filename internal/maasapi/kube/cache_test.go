// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// modelsOf is a collection of models that counts changes and what it skips.
func modelsOf() (c *collection[v1alpha1.MaaSModelRef], changes *int, skipped *[]string) {
	changes, skipped = new(int), new([]string)
	c = newCollection(readModel, func() { *changes++ }, func(key types.NamespacedName, _ error) { *skipped = append(*skipped, key.Name) })
	return c, changes, skipped
}

func modelObject(name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := object("MaaSModelRef", "llm", name, map[string]any{
		"spec":   map[string]any{"modelRef": map[string]any{"kind": "ExternalModel", "name": name}},
		"status": map[string]any{"tenant": testTenant, "phase": "Ready"},
	})
	u.SetResourceVersion("1")
	if change != nil {
		change(u)
	}
	return u
}

func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

// known are the names of a collection's objects, and how many are broken.
func known(c *collection[v1alpha1.MaaSModelRef]) ([]string, int) {
	items, broken := c.list()
	var out []string
	for _, item := range items {
		out = append(out, item.Object.Name+"@"+item.Tenant)
	}
	slices.Sort(out)
	return out, broken
}

func TestACollectionTellsAChangeFromOtherUpdates(t *testing.T) {
	t.Parallel()
	condition := []any{map[string]any{"type": "RouteUnique", "status": "False", "reason": "Taken", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
	for name, test := range map[string]struct {
		update *unstructured.Unstructured
		want   int
	}{
		"a new resource version":            {modelObject("a", set("2", "metadata", "resourceVersion")), 0},
		"an annotation that nobody reads":   {modelObject("a", set("x", "metadata", "annotations", "other")), 0},
		"managed fields":                    {modelObject("a", set([]any{map[string]any{"manager": "m"}}, "metadata", "managedFields")), 0},
		"the words of a condition":          {modelObject("a", set([]any{map[string]any{"type": "GovernanceAttached", "status": "True"}}, "status", "conditions")), 0},
		"the generation that was observed":  {modelObject("a", set(int64(7), "status", "observedGeneration")), 0},
		"the phase":                         {modelObject("a", set("Failed", "status", "phase")), 1},
		"the alias":                         {modelObject("a", set("x", "status", "resolvedModelAlias")), 1},
		"the tenant":                        {modelObject("a", set("red", "status", "tenant")), 1},
		"a condition that selection reads":  {modelObject("a", set(condition, "status", "conditions")), 1},
		"a display name":                    {modelObject("a", set("A", "metadata", "annotations", "openshift.io/display-name")), 1},
		"the deletion":                      {modelObject("a", set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")), 1},
		"another object":                    {modelObject("b", nil), 1},
		"an object that becomes unreadable": {modelObject("a", set("broken", "spec")), 1},
		"another object that is unreadable": {modelObject("b", set("broken", "spec")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, changes, _ := modelsOf()
			if err := c.Add(modelObject("a", nil)); err != nil {
				t.Fatal(err)
			}
			before := *changes
			if err := c.Update(test.update); err != nil || *changes-before != test.want {
				t.Errorf("Update() error = %v, %d changes, want %d", err, *changes-before, test.want)
			}
		})
	}
}

func TestACollectionLeavesOutWhatItCannotRead(t *testing.T) {
	t.Parallel()
	c, changes, skipped := modelsOf()
	want := func(broken int, names ...string) {
		t.Helper()
		got, n := known(c)
		if diff := cmp.Diff(names, got); diff != "" || n != broken {
			t.Errorf("%d broken, want %d (-want +got):\n%s", n, broken, diff)
		}
	}
	if c.known() {
		t.Error("known before the first list")
	}
	if err := c.Replace([]any{modelObject("a", nil), modelObject("b", set(int64(1), "spec", "tenantRef")), modelObject("c", nil)}, "1"); err != nil || !c.known() {
		t.Fatal(err)
	}
	want(1, "a@"+testTenant, "c@"+testTenant)
	_ = c.Update(modelObject("b", set(int64(2), "spec", "tenantRef"))) // Still broken: not logged again.
	_ = c.Update(modelObject("c", set("x", "status")))
	want(2, "a@"+testTenant)
	_ = c.Update(modelObject("b", nil))
	want(1, "a@"+testTenant, "b@"+testTenant)
	before := *changes
	_ = c.Delete(cache.DeletedFinalStateUnknown{Key: "llm/c", Obj: modelObject("c", nil)})
	if *changes != before {
		t.Error("the end of an unreadable object is a change")
	}
	_ = c.Replace([]any{modelObject("a", nil)}, "2")
	want(0, "a@"+testTenant)
	if diff := cmp.Diff([]string{"b", "c"}, *skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	before = *changes
	_ = c.Replace([]any{modelObject("a", nil)}, "3")
	if *changes != before || c.Resync() != nil {
		t.Error("the same list is a change")
	}
	if c.Add("text") == nil || c.Delete("text") == nil || c.Replace([]any{"text"}, "4") == nil {
		t.Error("what is no object is taken in")
	}
}

func TestANumberThatDoesNotFitIsNotCutOff(t *testing.T) {
	t.Parallel()
	u := object("MaaSSubscription", testTenant, "huge", map[string]any{"spec": map[string]any{"priority": int64(5_000_000_000)}})
	if got, _, err := readSubscription(testTenant)(u); err == nil {
		t.Errorf("priority %d", got.Spec.Priority)
	}
}

func TestAnEmptyFirstListIsAChange(t *testing.T) {
	t.Parallel()
	c, changes, _ := modelsOf()
	if err := c.Replace(nil, "1"); err != nil || *changes != 1 || !c.known() {
		t.Errorf("Replace() error = %v, %d changes", err, *changes)
	}
}

func TestWhatIsKeptOfASubscription(t *testing.T) {
	t.Parallel()
	u := object("MaaSSubscription", testTenant, "gold", map[string]any{
		"spec": map[string]any{"owner": map[string]any{"users": []any{"alice"}}, "modelRefs": []any{map[string]any{"name": "granite", "namespace": "llm", "unlimited": true}}},
		"status": map[string]any{
			"phase": "Active", "rateLimitIdentity": "legacy", "observedGeneration": int64(3),
			"conditions":             []any{map[string]any{"type": "Ready", "status": "True", "message": "m"}, map[string]any{"type": "Other", "status": "True"}},
			"modelRefStatuses":       []any{map[string]any{"name": "granite", "namespace": "llm", "ready": true, "reason": "Valid", "message": "m"}},
			"tokenRateLimitStatuses": []any{map[string]any{"name": "maas-trlp-granite", "namespace": "llm", "ready": true, "model": "granite", "message": "m"}},
		},
	})
	u.SetGeneration(3)
	u.SetUID("1")
	u.SetLabels(map[string]string{"a": "b"})
	u.SetFinalizers([]string{"x", v1alpha1.FinalizerSubscriptionCleanup})
	u.SetAnnotations(map[string]string{v1alpha1.AnnotationDisplayName: "Gold", "other": "x"})
	got, tenant, err := readSubscription(testTenant)(u)
	if err != nil || tenant != testTenant {
		t.Fatal(tenant, err)
	}
	want := &v1alpha1.MaaSSubscription{}
	want.Namespace, want.Name, want.Generation = testTenant, "gold", 3
	want.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
	want.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Gold"}
	want.Spec.Owner.Users = []string{"alice"}
	want.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Name: "granite", Namespace: "llm", Unlimited: true}}
	want.Status = v1alpha1.MaaSSubscriptionStatus{
		ObservedGeneration: 3, Phase: v1alpha1.PhaseActive, RateLimitIdentity: v1alpha1.RateLimitIdentityLegacy,
		ModelRefStatuses: []v1alpha1.ModelRefStatus{{ResourceRefStatus: v1alpha1.ResourceRefStatus{Name: "granite", Namespace: "llm", Ready: true}}},
		TokenRateLimitStatuses: []v1alpha1.TokenRateLimitStatus{{
			ResourceRefStatus: v1alpha1.ResourceRefStatus{Name: "maas-trlp-granite", Namespace: "llm", Ready: true}, Model: "granite",
		}},
	}
	want.Status.Conditions = verdicts(got.Status.Conditions, v1alpha1.ConditionReady)
	if diff := cmp.Diff(want, got); diff != "" || len(got.Status.Conditions) != 1 {
		t.Errorf("readSubscription() (-want +got):\n%s", diff)
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		did  func(*contact)
		want time.Time
	}{
		"there was none":                           {func(*contact) {}, time.Time{}},
		"a watch was opened":                       {func(c *contact) { c.opened(at(1)) }, at(1)},
		"something was heard":                      {func(c *contact) { c.opened(at(1)); c.hear(at(5)) }, at(5)},
		"the API server answers beside a watch":    {func(c *contact) { c.opened(at(1)); c.answer(at(9)) }, at(9)},
		"the API server answers without a watch":   {func(c *contact) { c.opened(at(1)); c.closed(); c.answer(at(9)) }, at(1)},
		"a watch was closed after an answer":       {func(c *contact) { c.opened(at(1)); c.answer(at(9)); c.closed(); c.answer(at(19)) }, at(9)},
		"a second watch is open still":             {func(c *contact) { c.opened(at(1)); c.opened(at(2)); c.closed(); c.answer(at(9)) }, at(9)},
		"a watch is silent for longer than it may": {func(c *contact) { c.opened(at(1)); c.answer(at(150)); c.answer(at(152)) }, at(150)},
		"a watch spoke after a silence":            {func(c *contact) { c.opened(at(1)); c.answer(at(152)); c.hear(at(160)); c.answer(at(170)) }, at(170)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &contact{}
			test.did(c)
			if got := c.last(); !got.Equal(test.want) {
				t.Errorf("last() = %s, want %s", got, test.want)
			}
		})
	}
}

// fill makes every kind known, and makes a snapshot.
func fill(c *Cache) {
	_ = c.models.Replace(nil, "1")
	_ = c.subscriptions.Replace(nil, "1")
	_ = c.policies.Replace(nil, "1")
	c.build()
}

func TestThereIsNoSnapshotBeforeEveryKindIsKnown(t *testing.T) {
	t.Parallel()
	c := newCache(t, clocktesting.NewFakeClock(epoch), nil)
	for _, f := range c.feeds {
		f.problem = reasonNotServed
	}
	c.build()
	for i, replace := range []func([]any, string) error{c.models.Replace, c.subscriptions.Replace, c.policies.Replace} {
		err := c.Ready()
		if c.Snapshot() != nil || err == nil || !strings.Contains(err.Error(), c.feeds[i].resource.Resource+": "+reasonNotServed) {
			t.Errorf("Ready() error = %v", err)
		}
		_ = replace(nil, "1")
		c.build()
	}
	if c.Snapshot() == nil || c.Ready() != nil {
		t.Errorf("Ready() error = %v", c.Ready())
	}
}

func TestAnOldSnapshotIsNoneWhenThereIsABound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bound, age time.Duration
		want       bool
	}{
		"without a bound":  {0, 24 * time.Hour, true},
		"below the bound":  {time.Minute, time.Minute, true},
		"beyond the bound": {time.Minute, time.Minute + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakeClock(epoch)
			c := newCache(t, clock, func(o *CacheOptions) { o.MaxAge = test.bound })
			fill(c)
			clock.Step(time.Hour)
			for _, f := range c.feeds {
				f.contact.opened(clock.Now())
			}
			clock.Step(test.age)
			c.feeds[0].contact.hear(clock.Now()) // The oldest counts.
			if got := c.Snapshot() != nil; got != test.want || (c.Ready() == nil) != test.want || c.Age() != test.age {
				t.Errorf("snapshot: %t, want %t; age %s, Ready() error = %v", got, test.want, c.Age(), c.Ready())
			}
		})
	}
}

// times are when snapshots were made, in milliseconds, while changes come at the
// given times.
func times(t *testing.T, changes []int, took time.Duration) []int64 {
	t.Helper()
	var made []int64
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, nil, func(o *CacheOptions) { o.Clock = clock.RealClock{} })
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for last := time.Duration(0); ; last = took {
				select {
				case <-ctx.Done():
					return
				case <-c.changed:
				}
				if !c.settle(ctx, last) {
					return
				}
				made = append(made, time.Since(began).Milliseconds())
			}
		}()
		for _, at := range changes {
			<-c.options.Clock.NewTimer(time.Until(began.Add(time.Duration(at) * time.Millisecond))).C()
			c.touch()
		}
		<-c.options.Clock.NewTimer(5 * time.Second).C()
		cancel()
		<-done
	})
	return made
}

func every(step, until int) (out []int) {
	for at := 0; at < until; at += step {
		out = append(out, at)
	}
	return out
}

func TestSnapshotsAreMadeOncePerBurst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []int
		took    time.Duration
		want    []int64
	}{
		"after a pause":                               {[]int{0}, 0, []int64{50}},
		"once for what comes together":                {[]int{0, 0, 10, 20, 60}, 0, []int64{110}},
		"twice for what comes apart":                  {[]int{0, 100}, 0, []int64{50, 150}},
		"at last while changes do not stop":           {every(20, 600), 0, []int64{250, 510, 630}},
		"seldom when it takes long":                   {[]int{0, 100, 200}, 100 * time.Millisecond, []int64{50, 500}},
		"at last when it takes long and nothing ends": {every(20, 1200), 100 * time.Millisecond, []int64{250, 660, 1060, 1460}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := times(t, test.changes, test.took)
			if len(got) != len(test.want) {
				t.Fatalf("made at %v, want %v", got, test.want)
			}
			for i := range got {
				if diff := got[i] - test.want[i]; diff < -20 || diff > 20 {
					t.Errorf("made at %v, want %v", got, test.want)
				}
			}
		})
	}
}

func TestACacheNeedsSensibleOptions(t *testing.T) {
	t.Parallel()
	good := CacheOptions{
		Clients: clients(), Tenant: testTenant, SubscriptionNamespace: testTenant,
		Clock: clocktesting.NewFakeClock(epoch), Log: discard(), Registerer: prometheus.NewRegistry(),
	}
	for name, change := range map[string]func(*CacheOptions){
		"no clients":                            func(o *CacheOptions) { o.Clients = nil },
		"no clock":                              func(o *CacheOptions) { o.Clock = nil },
		"no log":                                func(o *CacheOptions) { o.Log = nil },
		"no registerer":                         func(o *CacheOptions) { o.Registerer = nil },
		"no tenant":                             func(o *CacheOptions) { o.Tenant = "" },
		"no namespace":                          func(o *CacheOptions) { o.SubscriptionNamespace = "" },
		"a pause beyond the maximum":            func(o *CacheOptions) { o.Quiet = time.Second },
		"a negative time":                       func(o *CacheOptions) { o.CheckInterval = -1 },
		"a bound that two missed checks exceed": func(o *CacheOptions) { o.MaxAge = 29 * time.Second },
	} {
		o := good
		change(&o)
		if _, err := NewCache(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewCache(good); err != nil {
		t.Error(err)
	}
	if _, err := NewCache(good); err == nil {
		t.Error("metrics were registered twice without an error")
	}
}

func TestWhyAKindCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"nothing is wrong":            {nil, ""},
		"the program ends":            {context.Canceled, ""},
		"the API server is not there": {errDown, reasonUnreachable},
		"something took too long":     {errors.Join(context.DeadlineExceeded), reasonUnreachable},
	} {
		if got := problemOf(test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
