// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// prefix begins the names of all variables that hold image references. Tools that
// mirror images rewrite what begins with it.
const prefix = "RELATED_IMAGE_"

//go:embed images.yaml
var document []byte

// Image is one line of the table.
type Image struct {
	// Key is the name templates use; empty when the image is not used.
	Key string `json:"key,omitempty"`
	// Env is the variable with the reference.
	Env string `json:"env"`
	// Development is the reference of a development build without the variable.
	Development string `json:"development,omitempty"`
	// Component is the part of the product the image belongs to.
	Component string `json:"component"`
	// Optional images may be left out by not setting the variable: then nothing runs
	// them. Development is what their templates are checked with.
	Optional bool `json:"optional,omitempty"`
	// Note says why an image without a key is not used.
	Note string `json:"note,omitempty"`
}

// Table returns all variables that may be set, those without an effect included.
func Table() []Image {
	var table struct {
		Images []Image `json:"images"`
	}
	if err := yaml.UnmarshalStrict(document, &table); err != nil {
		panic(fmt.Sprintf("read the embedded table of images: %v", err)) //nolint:forbidigo // No build with a broken table passes the tests.
	}
	return table.Images
}

// Development returns the references of a development build with an empty
// environment, by key.
func Development() map[string]string {
	references := map[string]string{}
	for _, image := range Table() {
		if image.Key != "" {
			references[image.Key] = image.Development
		}
	}
	return references
}

// Resolve returns the reference of every image the operator runs, by key, as package
// render takes them. lookup and environ are the environment of the process; an empty
// variable counts as not set. release tells that this build must not fall back to
// development images. All problems are reported, each with the variable's name.
func Resolve(lookup func(string) (string, bool), environ []string, release bool) (map[string]string, error) {
	table := Table()
	errs := unknown(table, environ)
	references := map[string]string{}
	for _, image := range table {
		reference, _ := lookup(image.Env)
		switch {
		case reference != "":
			if err := render.CheckImage(reference); err != nil {
				errs = append(errs, fmt.Errorf("read %s: %w", image.Env, err))
			}
		case image.Key != "" && release && !image.Optional:
			errs = append(errs, fmt.Errorf("read %s: it is not set, and a release has no image to fall back to; set it to the image of %s", image.Env, image.Key))
		default:
			reference = image.Development
		}
		if image.Key != "" {
			references[image.Key] = reference
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return references, nil
}

// Configured tells whether the variable of an image is set. What runs an optional image
// is left out when it is not.
func Configured(lookup func(string) (string, bool), key string) bool {
	for _, image := range Table() {
		if image.Key == key {
			reference, _ := lookup(image.Env)
			return reference != ""
		}
	}
	return false
}

// unknown finds variables that are set and that the table lacks: a slip of the pen
// would otherwise leave an image unpinned.
func unknown(table []Image, environ []string) []error {
	var errs []error
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(table, func(image Image) bool { return image.Env == name })
		if strings.HasPrefix(name, prefix) && value != "" && !known {
			errs = append(errs, fmt.Errorf("read %s: no image has that variable; known are %s", name, names(table)))
		}
	}
	return errs
}

func names(table []Image) string {
	list := make([]string, 0, len(table))
	for _, image := range table {
		list = append(list, image.Env)
	}
	return strings.Join(list, ", ")
}
