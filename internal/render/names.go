// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	maxName    = validation.DNS1123LabelMaxLength
	hashLength = 8
)

// childName joins parts to an object name of at most 63 characters. A longer
// name is cut and gets a hash of the whole, so that different parts give
// different names.
func childName(parts ...string) (string, error) {
	if len(parts) == 0 || slices.Contains(parts, "") {
		return "", errors.New("childName needs at least one part, and no part may be empty")
	}
	name := strings.Join(parts, "-")
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		head := strings.TrimRight(name[:maxName-hashLength-1], "-.")
		name = head + "-" + hex.EncodeToString(sum[:])[:hashLength]
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", errors.New("the parts do not make an object name: lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit")
	}
	return name, nil
}

// labels writes a label set as YAML lines, sorted, after checking every key
// and value. Several sets are merged; they must agree on keys they share.
func labels(sets ...map[string]string) (string, error) {
	merged := map[string]string{}
	for _, set := range sets {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			value := set[key]
			if len(validation.IsQualifiedName(key)) > 0 {
				return "", errors.New("a label key is not a qualified name; check it where the values are built")
			}
			if len(validation.IsValidLabelValue(value)) > 0 {
				return "", fmt.Errorf("value of label %s is not a label value (at most 63 letters, digits, '-', '_' and '.'); check or hash it where the values are built", key)
			}
			if other, taken := merged[key]; taken && other != value {
				return "", fmt.Errorf("label %s is given twice with different values", key)
			}
			merged[key] = value
		}
	}
	return toYAML(merged)
}
