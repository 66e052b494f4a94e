// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// jsonTypeName is the name of the one permitted named scalar: canonical JSON
// text of an API structure, which only toYaml accepts.
const jsonTypeName = "JSON"

var stringMapType = reflect.TypeFor[map[string]string]()

// CheckValues reports whether a type may be handed to a template: a struct of
// strings, booleans, signed integers, slices, map[string]string and further
// such structs. Pointers, interfaces, floats and untyped maps would bring back
// nil, "<no value>" and values that are not known before rendering.
func CheckValues(t reflect.Type) error {
	if t == nil {
		return errors.New("value type is nil")
	}
	c := contractCheck{}
	c.visit(t.String(), t)
	return errors.Join(c.errs...)
}

type contractCheck struct {
	open []reflect.Type // structs being visited, to find recursion
	errs []error
}

func (c *contractCheck) refuse(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func (c *contractCheck) visit(path string, t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if t.PkgPath() != "" {
			c.refuse(path, "named type %s; use %s, which template functions accept", t, t.Kind())
		}
	case reflect.String:
		if t.PkgPath() != "" && t.Name() != jsonTypeName {
			c.refuse(path, "named type %s; use string, which template functions accept", t)
		}
	case reflect.Slice:
		c.visit(path+"[]", t.Elem())
	case reflect.Map:
		if t.Key() != stringMapType.Key() || t.Elem() != stringMapType.Elem() {
			c.refuse(path, "%s; the only permitted map is map[string]string", t)
		}
	case reflect.Struct:
		c.visitStruct(path, t)
	case reflect.Pointer:
		c.refuse(path, "pointer %s; use a struct with Enabled bool, or a slice of length 0 or 1", t)
	default:
		c.refuse(path, "%s is not permitted; use string, bool, a signed integer, a slice, map[string]string or a struct", t)
	}
}

func (c *contractCheck) visitStruct(path string, t reflect.Type) {
	if slices.Contains(c.open, t) {
		c.refuse(path, "%s contains itself", t)
		return
	}
	c.open = append(c.open, t)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	for field := range t.Fields() {
		fieldPath := path + "." + field.Name
		if !field.IsExported() {
			c.refuse(fieldPath, "unexported field; templates cannot see it")
			continue
		}
		c.visit(fieldPath, field.Type)
	}
}
