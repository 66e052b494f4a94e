// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Profile describes a distribution of the product.
type Profile struct {
	// Contract is the version of the contract the overlay was made for: v1.
	Contract string `json:"contract"`
	// Labels are added to the metadata of every object.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are added to the metadata of every object.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Contract is the version of the public contract with packagers: the types of
// templates/values, the ids of templates and the form of an overlay.
const Contract = "v1"

func (p *Profile) read(content []byte) error {
	if err := strict(content, p); err != nil {
		return err
	}
	var errs []error
	if p.Contract != Contract {
		errs = append(errs, fmt.Errorf("contract is %q; this release knows %s", p.Contract, Contract))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		for _, message := range append(checkKey(key), validation.IsValidLabelValue(p.Labels[key])...) {
			errs = append(errs, fmt.Errorf("labels: %s: %s", key, message))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		for _, message := range checkKey(key) {
			errs = append(errs, fmt.Errorf("annotations: %s: %s", key, message))
		}
	}
	return errors.Join(errs...)
}

// checkKey refuses keys of labels and annotations that are ours or malformed.
func checkKey(key string) []string {
	messages := validation.IsQualifiedName(key)
	if protectedKey(key) {
		messages = append(messages, "belongs to the operator; use a key of your own domain")
	}
	return messages
}

// plain tells whether the profile changes no object.
func (p *Profile) plain() bool { return len(p.Labels) == 0 && len(p.Annotations) == 0 }
