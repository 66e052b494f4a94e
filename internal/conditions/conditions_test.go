// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

type (
	conditionType string
	reason        string
)

const (
	ready    conditionType = "Ready"
	attached conditionType = "Attached"

	good reason = "Good"
	bad  reason = "Bad"
)

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	t.Parallel()

	longAgo := metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	for name, tc := range map[string]struct {
		value     conditions.Value
		wantMoved bool
	}{
		"another message keeps the time": {conditions.True(good, "other words"), false},
		"another reason keeps the time":  {conditions.True(bad, "fine"), false},
		"another status moves the time":  {conditions.False(bad, "broken"), true},
		"unknown moves the time":         {conditions.Unknown(bad, "who knows"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Good", Message: "fine", LastTransitionTime: longAgo}}

			conditions.Set(&list, ready, 7, tc.value)

			got := *meta.FindStatusCondition(list, string(ready))
			if moved := !got.LastTransitionTime.Equal(&longAgo); moved != tc.wantMoved {
				t.Errorf("transition time moved = %v, want %v", moved, tc.wantMoved)
			}
			want := metav1.Condition{
				Type: "Ready", Status: tc.value.Status, Reason: tc.value.Reason, Message: tc.value.Message,
				ObservedGeneration: 7, LastTransitionTime: got.LastTransitionTime,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransitionRemembersWhatWasThere(t *testing.T) {
	t.Parallel()

	var list []metav1.Condition
	first := conditions.Set(&list, ready, 1, conditions.False(bad, "broken"))
	if first.Existed() || !first.StatusChanged() || !first.Turned() || !first.Changed() {
		t.Errorf("first setting: %+v", first)
	}
	same := conditions.Set(&list, ready, 2, conditions.False(bad, "broken"))
	if !same.Existed() || same.Changed() {
		t.Errorf("same value for a later generation counts as a change: %+v", same)
	}
	reworded := conditions.Set(&list, ready, 2, conditions.False(bad, "still broken"))
	if reworded.Turned() || !reworded.Changed() {
		t.Errorf("new message: %+v", reworded)
	}
	renamed := conditions.Set(&list, ready, 2, conditions.False("Worse", "still broken"))
	if renamed.StatusChanged() || !renamed.Turned() || !renamed.Changed() {
		t.Errorf("new reason: %+v", renamed)
	}
	healed := conditions.Set(&list, ready, 3, conditions.True(good, "fine"))
	if healed.Before.Status != metav1.ConditionFalse || healed.After.Status != metav1.ConditionTrue {
		t.Errorf("before and after = %s, %s", healed.Before.Status, healed.After.Status)
	}
}

func TestNoteFitsAnEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   metav1.Condition
		want string
	}{
		"the message":      {metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Message: "Broken."}, "Broken."},
		"a long message":   {metav1.Condition{Type: "Ready", Message: strings.Repeat("x", 1025)}, strings.Repeat("x", 1021) + "..."},
		"without one":      {metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}, "Condition Ready is True."},
		"nothing is known": {metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown}, "Condition Ready is Unknown."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := conditions.Note(tc.in); got != tc.want {
				t.Errorf("Note() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	var list []metav1.Condition
	conditions.Set(&list, ready, 1, conditions.True(good, ""))
	if !conditions.Remove(&list, ready) || conditions.Remove(&list, ready) || len(list) != 0 {
		t.Errorf("list = %v", list)
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"a short message stays":               {"fine", "fine"},
		"a message of the exact size stays":   {strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
		"one byte more is cut and marked":     {strings.Repeat("x", 1025), strings.Repeat("x", 1021) + "..."},
		"a character is never split":          {strings.Repeat("x", 1020) + "€€€", strings.Repeat("x", 1020) + "..."},
		"a character that fits is kept":       {strings.Repeat("x", 1018) + "€€€", strings.Repeat("x", 1018) + "€..."},
		"bytes that are no text are replaced": {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, conditions.Truncate(tc.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTruncateFitsAnyMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := string(rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(rt, "message"))
		got := conditions.Truncate(in)
		if len(got) > conditions.MaxMessage || !utf8.ValidString(got) {
			rt.Fatalf("%d bytes, valid text = %v", len(got), utf8.ValidString(got))
		}
		if again := conditions.Truncate(got); again != got {
			rt.Fatal("truncating twice changes the message")
		}
	})
}

func TestSetTruncatesTheMessage(t *testing.T) {
	t.Parallel()
	var list []metav1.Condition
	conditions.Set(&list, ready, 1, conditions.True(good, strings.Repeat("é", 2000)))
	if got := len(list[0].Message); got > conditions.MaxMessage {
		t.Errorf("message has %d bytes", got)
	}
}
