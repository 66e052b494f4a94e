// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// crowd is a number of subscriptions, the later ones the newer.
func crowd(count int, rates func(i int) v1alpha1.TokenRateLimit) []model.Subscription {
	out := make([]model.Subscription, 0, count)
	for i := range count {
		s := short(fmt.Sprintf("subscription-%05d", i), rates(i))
		s.Object.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
		out = append(out, s)
	}
	return out
}

func equal(int) v1alpha1.TokenRateLimit { return rate(1, "1m") }

// people are names of users.
func people(count, length int) []string {
	out := make([]string, 0, count)
	for i := range count {
		out = append(out, fmt.Sprintf("%0*d", length, i))
	}
	return out
}

func weighed(t *testing.T, in model.Input) model.Sizes {
	t.Helper()
	out := build(t, in)
	objects, err := parts.Engine(t).RenderAll(out.Requests())
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return out.Sizes.Weigh(objects)
}

func TestSizesAreThoseOfTheObjects(t *testing.T) {
	t.Parallel()
	in := guarded()
	in.Subscriptions = []model.Subscription{short("gold", rate(100, "1m")), short("<silver>", rate(100, "1m")), legacy("bronze\"\u2028", rate(7, "24h"))}
	out := build(t, in)
	objects, err := parts.Engine(t).RenderAll(out.Requests())
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	sizes := out.Sizes.Weigh(objects)
	for i := range objects {
		got := map[string]model.ObjectSize{"AuthPolicy": sizes.AuthPolicy, "TokenRateLimitPolicy": sizes.TokenRateLimitPolicy}[objects[i].GetKind()]
		raw, err := json.Marshal(objects[i].Object)
		if err != nil {
			t.Fatal(err)
		}
		if difference := got.Bytes - len(raw); difference < 0 || difference > len(raw)/20 {
			t.Errorf("%s: %d bytes are reported of %d", objects[i].GetKind(), got.Bytes, len(raw))
		}
		annotations := 0
		for key, value := range objects[i].GetAnnotations() {
			annotations += len(key) + len(value)
		}
		if got.AnnotationBytes != annotations {
			t.Errorf("%s: %d bytes of annotations are reported of %d", objects[i].GetKind(), got.AnnotationBytes, annotations)
		}
	}
	want := []model.LimitSize{{Name: "tokens-100-per-1m", Members: 2, CodePoints: len(out.TokenRateLimitPolicy.Limits[0].Predicate)}, {Name: "tokens-7-per-24h", Members: 1, CodePoints: len(out.TokenRateLimitPolicy.Limits[1].Predicate)}}
	if diff := cmp.Diff(want, sizes.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if sizes.Subjects != 3 || sizes.SubjectBytes != len("alicesystem:serviceaccount:apps:botengineers") {
		t.Errorf("%d subjects of %d bytes", sizes.Subjects, sizes.SubjectBytes)
	}
}

func TestABoundIsAnnouncedBeforeItIsHit(t *testing.T) {
	t.Parallel()
	distinct := func(i int) v1alpha1.TokenRateLimit { return rate(int64(i+1), "1m") }
	tests := map[string]struct {
		change   func(*model.Input)
		want     string
		wantLeft bool
	}{
		"a few subscriptions and subjects are no matter": {change: func(in *model.Input) { in.Subscriptions = crowd(500, equal) }},
		"members of equal rates are running out":         {change: func(in *model.Input) { in.Subscriptions = crowd(2100, equal) }, want: "equal rates"},
		"members of equal rates have run out":            {change: func(in *model.Input) { in.Subscriptions = crowd(3000, equal) }, want: "equal rates", wantLeft: true},
		"rates that all differ fill the object":          {change: func(in *model.Input) { in.Subscriptions = crowd(2000, distinct) }, want: "limits together", wantLeft: true},
		"rates that all differ are too many soon":        {change: func(in *model.Input) { in.Subscriptions = crowd(1300, distinct) }, want: "limits together"},
		"subjects are running out":                       {change: func(in *model.Input) { in.AuthPolicies[0].Object.Spec.Subjects.Users = people(220, 5) }, want: "the subjects"},
		"names of subjects are running out":              {change: func(in *model.Input) { in.AuthPolicies[0].Object.Spec.Subjects.Users = people(55, 250) }, want: "names of subjects"},
		"subjects beyond the bound are told elsewhere":   {change: func(in *model.Input) { in.AuthPolicies[0].Object.Spec.Subjects.Users = people(400, 5) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := guarded()
			test.change(&in)
			sizes := weighed(t, in)
			near := strings.Join(sizes.Near(), "; ")
			if test.want == "" && near != "" && !test.wantLeft || !strings.Contains(near, test.want) {
				t.Errorf("Near() = %q, want %q", near, test.want)
			}
			if (sizes.LeftOut > 0) != test.wantLeft {
				t.Errorf("%d are left out, want some: %t", sizes.LeftOut, test.wantLeft)
			}
			if bytes := max(sizes.AuthPolicy.Bytes, sizes.TokenRateLimitPolicy.Bytes); bytes > 1<<20 {
				t.Errorf("an object has %d bytes", bytes)
			}
		})
	}
}

// TestAFullPolicyKeepsTheOldest: whatever the limits, nobody who is left out is
// older than somebody of the same limit who is in.
func TestAFullPolicyKeepsTheOldest(t *testing.T) {
	t.Parallel()
	in := guarded()
	in.Subscriptions = crowd(4000, func(i int) v1alpha1.TokenRateLimit { return rate(int64(i%1500+1), "1m") })
	out := build(t, in)
	if len(out.Overflow) == 0 {
		t.Fatal("nobody is left out")
	}
	if got, want := out.Overflow[0].Name, fmt.Sprintf("subscription-%05d", 4000-len(out.Overflow)); got != want {
		t.Errorf("the oldest one left out is %s, want %s", got, want)
	}
}
