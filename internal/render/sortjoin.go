// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"slices"
)

// joinSorted joins errors in the order of file and line, so that the outcome
// does not depend on the order maps were walked in. Joined errors among them
// are taken apart first.
func joinSorted(errs ...error) error {
	var flat []error
	for _, err := range errs {
		flat = flatten(flat, err)
	}
	slices.SortStableFunc(flat, compareErrors)
	return errors.Join(flat...)
}

func flatten(into []error, err error) []error {
	if err == nil {
		return into
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			into = flatten(into, e)
		}
		return into
	}
	return append(into, err)
}

func compareErrors(a, b error) int {
	var left, right *Error
	if errors.As(a, &left) && errors.As(b, &right) {
		return cmp.Or(cmp.Compare(left.File, right.File), cmp.Compare(left.Line, right.Line), cmp.Compare(left.Error(), right.Error()))
	}
	return cmp.Compare(a.Error(), b.Error())
}
