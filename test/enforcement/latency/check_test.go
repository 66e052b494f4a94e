// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/bench/load"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// checkMethod is what gateways call.
const checkMethod = "/envoy.service.auth.v3.Authorization/Check"

// The numbers of the fields that are sent, of messages of envoy.service.auth.v3. Their
// package would be one more module for a few of them.
const (
	// Of CheckRequest and AttributeContext.
	fieldAttributes, fieldRequest, fieldExtensions = 1, 4, 10
	// Of Request and HttpRequest.
	fieldHTTP, fieldMethod, fieldHeaders, fieldPath, fieldHost, fieldScheme, fieldProtocol = 2, 2, 3, 4, 5, 6, 10
	// Of an entry of a map.
	fieldKey, fieldValue = 1, 2
)

// field is a field that has a length: a text or a message.
func field[T ~string | ~[]byte](number uint64, content T) []byte {
	const withLength, bits = 2, 3
	out := binary.AppendUvarint(nil, number<<bits|withLength)
	return append(binary.AppendUvarint(out, uint64(len(content))), content...)
}

// message joins fields.
func message(fields ...[]byte) []byte {
	var out []byte
	for _, f := range fields {
		out = append(out, f...)
	}
	return out
}

// entry is one of a map.
func entry(number uint64, key, value string) []byte {
	return field(number, message(field(fieldKey, key), field(fieldValue, value)))
}

// check asks Authorino about a request to a model of the tenant, in the scope that the
// generated configuration of the gateway names. The answer must let it pass with a
// header for the model.
func check(r world.Request, scope, header string) load.Request {
	http1 := [][]byte{
		field(fieldMethod, http.MethodPost), field(fieldPath, r.Path), field(fieldHost, r.Tenant.Host),
		field(fieldScheme, "https"), field(fieldProtocol, "HTTP/1.1"),
	}
	lines := append(world.Headers(
		":authority", r.Tenant.Host, ":method", http.MethodPost, ":path", r.Path, ":scheme", "https",
		"accept", "application/json", "content-type", "application/json", "user-agent", "curl/8.14.1",
		"x-forwarded-for", "192.0.2.7", "x-request-id", "6f1d2a5e-5f39-4b4e-9c51-0c1c36d5a7c4",
	), r.Headers...)
	for _, line := range lines {
		http1 = append(http1, entry(fieldHeaders, strings.ToLower(line.Name), line.Value))
	}
	return load.Request{
		Path: checkMethod, Status: http.StatusOK, Text: []byte(header),
		Body: field(fieldAttributes, message(
			field(fieldRequest, field(fieldHTTP, message(http1...))),
			entry(fieldExtensions, "host", scope),
		)),
	}
}
