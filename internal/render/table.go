// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID names a template: "<component>/<kind>-<name>", the kind in lower case.
// Packagers pin overrides to it, so it never changes.
type ID string

// File returns the path of the template in its file system.
func (id ID) File() string { return string(id) + templateSuffix }

// Entry declares one template: where it stands in the order of application,
// what it renders to and what it is rendered from.
type Entry struct {
	// ID is the template's id, and with a suffix its path.
	ID ID
	// Stage orders objects: a lower stage is applied first.
	Stage int
	// GVK is the kind the template renders to.
	GVK schema.GroupVersionKind
	// Values is the zero value of the template's value type.
	Values any
}

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9.-]*$`)

// indexTable checks the component table and returns it by id.
func indexTable(table []Entry) (map[ID]Entry, error) {
	var errs []error
	entries := make(map[ID]Entry, len(table))
	for _, entry := range table {
		if _, double := entries[entry.ID]; double {
			errs = append(errs, fmt.Errorf("table entry %s: listed twice", entry.ID))
			continue
		}
		entries[entry.ID] = entry
		if err := entry.validate(); err != nil {
			errs = append(errs, fmt.Errorf("table entry %s: %w", entry.ID, err))
		}
	}
	return entries, errors.Join(errs...)
}

func (e Entry) validate() error {
	if !idPattern.MatchString(string(e.ID)) {
		return errors.New("id must have the form <component>/<kind>-<name>")
	}
	if e.GVK.Version == "" || e.GVK.Kind == "" {
		return errors.New("GVK must have a version and a kind")
	}
	_, base, _ := strings.Cut(string(e.ID), "/")
	if prefix := strings.ToLower(e.GVK.Kind) + "-"; !strings.HasPrefix(base, prefix) {
		return fmt.Errorf("id of a %s must begin with %q after the component", e.GVK.Kind, prefix)
	}
	valueType := reflect.TypeOf(e.Values)
	if valueType == nil || valueType.Kind() != reflect.Struct {
		return errors.New("values must be the zero value of a struct type")
	}
	return CheckValues(valueType)
}
