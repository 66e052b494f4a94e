// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// toInt returns any signed integer as int64, so that it is printed in decimal
// digits. It converts nothing else: text that looks like a number is an error
// where sprig's int would silently yield 0.
func toInt(v any) (int64, error) {
	if value := reflect.ValueOf(v); value.CanInt() {
		return value.Int(), nil
	}
	return 0, fmt.Errorf("int takes an integer, not %T", v)
}

// toString returns the decimal digits of an integer, or the string itself.
func toString(v any) (string, error) {
	value := reflect.ValueOf(v)
	switch {
	case value.CanInt():
		return strconv.FormatInt(value.Int(), 10), nil
	case value.Kind() == reflect.String && value.Type().Name() != jsonTypeName:
		return value.String(), nil
	}
	return "", fmt.Errorf("toString takes an integer or a string, not %T", v)
}

// verb kinds of printf.
const (
	verbString  = 's'
	verbInteger = 'd'
	verbBoolean = 't'
)

// verbsOf returns the verbs of a printf format. Only the plain %s, %d, %t and
// %% are permitted: %v prints whatever it gets and %q quotes for Go alone.
func verbsOf(format string) ([]byte, error) {
	var verbs []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		if i == len(format) || !strings.ContainsRune("sdt%", rune(format[i])) {
			return nil, errors.New("format permits only %s, %d, %t and %%")
		}
		if format[i] != '%' {
			verbs = append(verbs, format[i])
		}
	}
	return verbs, nil
}

// printf is fmt.Sprintf with every verb checked against its argument.
func printf(format string, args ...any) (string, error) {
	verbs, err := verbsOf(format)
	if err != nil {
		return "", err
	}
	if len(verbs) != len(args) {
		return "", fmt.Errorf("format has %d verbs, but %d arguments follow", len(verbs), len(args))
	}
	for i, verb := range verbs {
		value := reflect.ValueOf(args[i])
		var fits bool
		switch verb {
		case verbString:
			fits = value.Kind() == reflect.String && value.Type().Name() != jsonTypeName
		case verbInteger:
			fits = value.CanInt()
		case verbBoolean:
			fits = value.Kind() == reflect.Bool
		}
		if !fits {
			return "", fmt.Errorf("verb %%%c does not fit argument %d of type %T", verb, i+1, args[i])
		}
	}
	return fmt.Sprintf(format, args...), nil
}
