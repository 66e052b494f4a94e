// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// imagePattern is a reference with a registry and a path. It admits nothing
// that YAML would read as anything but a string.
var imagePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9][a-z0-9._-]*)+(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@sha256:[0-9a-f]{64})?$`)

// checkImages refuses image references that would reach a cluster empty or
// broken.
func checkImages(images map[string]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(images)) {
		if err := CheckImage(images[key]); err != nil {
			errs = append(errs, fmt.Errorf("image %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// CheckImage refuses a reference that is empty, names no registry, or has neither a
// tag nor a digest.
func CheckImage(reference string) error {
	if !imagePattern.MatchString(reference) || !pinned(reference) {
		return errors.New("reference is empty or malformed; want registry/path:tag or registry/path@sha256:digest")
	}
	return nil
}

// pinned tells whether a reference ends in a tag or a digest.
func pinned(reference string) bool {
	return strings.Contains(reference[strings.LastIndexByte(reference, '/')+1:], ":")
}

// imageFunc returns the template function that resolves an image key.
func imageFunc(images map[string]string) func(string) (string, error) {
	return func(key string) (string, error) {
		reference, ok := images[key]
		if !ok {
			return "", fmt.Errorf("image %q is not known; add it to the image list", key)
		}
		return reference, nil
	}
}
