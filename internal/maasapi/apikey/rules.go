// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Bounds of texts, in characters.
const (
	maxKeyName     = 128
	maxDescription = 1024
)

// nameOf returns the name of a new key.
func nameOf(name string, ephemeral bool, now time.Time) (string, error) {
	if name == "" && ephemeral {
		return "ephemeral-" + strconv.FormatInt(now.UnixNano(), 10), nil
	}
	trimmed := strings.TrimSpace(name)
	switch {
	case trimmed == "":
		return "", invalid("key name cannot be whitespace only")
	case utf8.RuneCountInString(trimmed) > maxKeyName:
		return "", invalid("key name cannot exceed " + strconv.Itoa(maxKeyName) + " characters")
	case strings.ContainsFunc(trimmed, isControl):
		return "", invalid("key name contains invalid control characters")
	case !utf8.ValidString(trimmed):
		return "", invalid("key name is no valid UTF-8 text")
	default:
		return trimmed, nil
	}
}

// checkDescription returns what is wrong with a description, or nil.
func checkDescription(description string) error {
	forbidden := func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' && r != '\r' }
	switch {
	case utf8.RuneCountInString(description) > maxDescription:
		return invalid("description cannot exceed " + strconv.Itoa(maxDescription) + " characters")
	case strings.ContainsFunc(description, forbidden):
		return invalid("description contains invalid control characters: only line breaks and tabs are allowed")
	case !utf8.ValidString(description):
		return invalid("description is no valid UTF-8 text")
	default:
		return nil
	}
}

// checkGroups refuses groups that the gateway would not pass on, so that a key
// never has more or fewer groups than its owner had.
func checkGroups(groups []string) error {
	for _, group := range groups {
		if !entitlement.SafeGroup(group) {
			return &Error{
				Kind: KindInvalid, Code: CodeInvalidGroup,
				Message: "A group of the caller cannot be kept in an API key: names of groups must match " + entitlement.SafeGroupPattern,
			}
		}
	}
	return nil
}

// storable tells whether a text can be compared with, or kept in, a column of
// the store.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}
