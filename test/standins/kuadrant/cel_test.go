// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		dialect   dialect
		text      string
		predicate bool
		// wantErr is a part of the message; empty means accepted.
		wantErr string
	}{
		"limit predicate on identity is accepted": {
			dialect:   dialectGatewayLimit,
			text:      `auth.identity.selected_subscription_id == "790b74af224deb46" && !(request.method == "GET" && request.url_path.endsWith("/v1/models"))`,
			predicate: true,
		},
		"list membership is accepted": {
			dialect: dialectGatewayLimit, text: `auth.identity.selected_subscription_id in ["a", "b"]`, predicate: true,
		},
		"identity is unknown without an auth policy": {
			dialect: dialectGatewayLimitAnonymous, text: `auth.identity.userid == "x"`, predicate: true,
			wantErr: "undeclared reference to 'auth'",
		},
		"syntax error names the position": {
			dialect: dialectGatewayAuth, text: `request.path ==`, predicate: true, wantErr: "<input>:1:",
		},
		"unknown function is refused": {
			dialect: dialectAuthorino, text: `sha256(request.path)`, wantErr: "undeclared reference to 'sha256'",
		},
		"number is no predicate": {
			dialect: dialectGatewayAuth, text: `1 + 1`, predicate: true, wantErr: "must be a boolean",
		},
		"number is an expression": {dialect: dialectAuthorino, text: `1 + 1`},
		"dynamic value may be a predicate": {
			dialect: dialectGatewayAuth, text: `request.headers["x"]`, predicate: true,
		},
		"dynamic value may be a predicate for Authorino": {
			dialect: dialectAuthorino, text: `auth.metadata.check.valid`, predicate: true,
		},
		"string functions are known to Authorino": {
			dialect: dialectAuthorino, text: `request.headers.authorization.replace("Bearer ", "").lowerAscii()`,
		},
		"optional syntax is known to Authorino": {
			dialect: dialectAuthorino, text: `has(auth.metadata) ? auth.metadata.check.name : ""`,
		},
		"response body is known to the gateway": {
			dialect: dialectGatewayLimit, text: `responseBodyJSON("/usage/total_tokens")`,
		},
		"response body is unknown to Authorino": {
			dialect: dialectAuthorino, text: `responseBodyJSON("/usage/total_tokens")`, wantErr: "undeclared reference",
		},
	}
	c, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second answer comes from memory
				err := c.check(tc.dialect, tc.text, tc.predicate)
				switch {
				case tc.wantErr == "" && err != nil:
					t.Errorf("check(%q) = %v, want it accepted", tc.text, err)
				case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
					t.Errorf("check(%q) = %v, want an error with %q", tc.text, err, tc.wantErr)
				}
			}
		})
	}
}
