// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callerid

import "github.com/opendatahub-io/maas-operator/internal/celtext"

// is tells whether a field of the object is there with the type.
func is(object, field, kind string) string {
	path := object + "." + field
	return "has(" + path + ") && type(" + path + ") == " + kind
}

// Filled tells whether a field of the object is a text that is not empty.
func Filled(object, field string) string {
	return is(object, field, "string") + " && " + object + "." + field + " != \"\""
}

// Text reads an optional text of the object.
func Text(object, field string) string {
	return celtext.Cond(is(object, field, "string"), object+"."+field, "\"\"")
}

// list reads an optional list.
func list(object, field string) string {
	return celtext.Cond(is(object, field, "list"), object+"."+field, "[]")
}
