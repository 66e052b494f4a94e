// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of labels.
const (
	maxLabels     = 50
	maxLabelKey   = 128  // Bytes.
	maxLabelValue = 1024 // Bytes.
)

// labelKey is a name with an optional prefix like that of a domain.
var labelKey = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?/)?[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`)

// CheckLabels returns what is wrong with the labels, or nil. Of several faults it
// names the one of the first key in their order.
func CheckLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return invalid("labels cannot exceed " + strconv.Itoa(maxLabels) + " key-value pairs")
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := checkLabel(key, labels[key]); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(key, value string) error {
	switch {
	case key == "":
		return invalid("label keys cannot be empty")
	case len(key) > maxLabelKey:
		return invalid("label key '" + shortened(key) + "' exceeds " + strconv.Itoa(maxLabelKey) + " characters")
	case !labelKey.MatchString(key):
		return invalid("label key '" + key + "' contains invalid characters: it is made of letters, digits, '-', '_' and '.'" +
			" between letters or digits, after an optional prefix like example.com/")
	case value == "":
		return invalid("label value for key '" + key + "' cannot be empty")
	case len(value) > maxLabelValue:
		return invalid("label value for key '" + key + "' exceeds " + strconv.Itoa(maxLabelValue) + " characters")
	case strings.ContainsFunc(value, isControl):
		return invalid("label value for key '" + key + "' contains invalid control characters")
	case !utf8.ValidString(value):
		return invalid("label value for key '" + key + "' is no valid UTF-8 text")
	default:
		return nil
	}
}

// shortened is the start of a text that is too long to be repeated.
func shortened(text string) string {
	end := 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if end+size > maxLabelKey/2 {
			return text[:end] + "..."
		}
		end += size
	}
	return text
}

// isControl tells whether a character is one of those that no name may have.
func isControl(r rune) bool { return r < ' ' || r == 0x7F }
