// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions owns how conditions get onto objects and how statuses get to
// the API server: transition times move only with the status, messages fit the
// schema, and a status is patched once, and only when it means something else
// than before. Which condition holds is decided elsewhere.
package conditions

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxMessage is the longest condition, item or event message in bytes. Every
// message field of the CRDs admits this many characters, and events this many bytes.
const MaxMessage = 1024

const ellipsis = "..."

// Truncate shortens a message to MaxMessage bytes, marking the cut. It never
// splits a character, and replaces bytes that are not UTF-8.
func Truncate(message string) string {
	if !utf8.ValidString(message) {
		message = string([]rune(message))
	}
	if len(message) <= MaxMessage {
		return message
	}
	cut := MaxMessage - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + ellipsis
}

// Value is the payload of a condition: everything but its type, its generation
// and its time.
type Value struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// True makes a Value that holds.
func True[R ~string](reason R, message string) Value {
	return Value{Status: metav1.ConditionTrue, Reason: string(reason), Message: message}
}

// False makes a Value that does not hold.
func False[R ~string](reason R, message string) Value {
	return Value{Status: metav1.ConditionFalse, Reason: string(reason), Message: message}
}

// Unknown makes a Value of which nothing is known yet.
func Unknown[R ~string](reason R, message string) Value {
	return Value{Status: metav1.ConditionUnknown, Reason: string(reason), Message: message}
}

// Transition is what Set found and left behind. Both halves are copies, so they
// stay true however the list changes afterwards.
type Transition struct {
	// Before is the condition as it was; the zero value when there was none.
	Before metav1.Condition
	// After is the condition as it is now.
	After metav1.Condition
}

// Existed reports whether the condition had been set before.
func (t Transition) Existed() bool { return t.Before.Type != "" }

// StatusChanged reports whether the status differs, a first setting included.
func (t Transition) StatusChanged() bool { return t.Before.Status != t.After.Status }

// Turned reports whether the status or the reason differs, a first setting included.
// That is worth an event; the same in other words is not.
func (t Transition) Turned() bool { return t.StatusChanged() || t.Before.Reason != t.After.Reason }

// Changed reports whether a reader would see another status, reason or message.
func (t Transition) Changed() bool { return t.Turned() || t.Before.Message != t.After.Message }

// Note is what an event says about a condition: its message, or its status when it
// has none.
func Note(c metav1.Condition) string {
	if c.Message != "" {
		return Truncate(c.Message)
	}
	return "Condition " + c.Type + " is " + string(c.Status) + "."
}

// Set puts one condition into the list for the given generation. The transition
// time moves only when the status changes; the message is truncated.
func Set[T ~string](list *[]metav1.Condition, conditionType T, generation int64, v Value) Transition {
	var t Transition
	if old := meta.FindStatusCondition(*list, string(conditionType)); old != nil {
		t.Before = *old
	}
	meta.SetStatusCondition(list, metav1.Condition{
		Type:               string(conditionType),
		Status:             v.Status,
		Reason:             v.Reason,
		Message:            Truncate(v.Message),
		ObservedGeneration: generation,
	})
	t.After = *meta.FindStatusCondition(*list, string(conditionType))
	return t
}

// Remove takes a condition that no longer applies off the list and reports
// whether it was there.
func Remove[T ~string](list *[]metav1.Condition, conditionType T) bool {
	return meta.RemoveStatusCondition(list, string(conditionType))
}
