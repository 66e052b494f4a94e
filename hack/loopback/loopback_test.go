// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:0":    "",
		"127.8.9.1:443":  "",
		"[::1]:443":      "",
		"127.0.0.1":      "is no address",
		"":               "is no address",
		"0.0.0.0:443":    "is no loopback address",
		":443":           "is no loopback address",
		"192.0.2.1:443":  "is no loopback address",
		"localhost:443":  "is no loopback address",
		"[2001:db8::]:1": "is no loopback address",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			err := Check(address)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("Check(%q) = %v, want %q", address, err, want)
			}
		})
	}
}
