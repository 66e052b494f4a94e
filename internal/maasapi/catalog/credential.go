// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"log/slog"
)

// hidden is printed instead of a credential.
const hidden = "[hidden]"

// Credential is what the caller authenticated with, byte for byte. It can be sent
// and compared, never printed.
type Credential struct {
	authorization, apiKey string
}

// NewCredential takes the values of Authorization and X-Api-Key. The second counts
// only without the first.
func NewCredential(authorization, apiKey string) Credential {
	if authorization != "" {
		return Credential{authorization: authorization}
	}
	return Credential{apiKey: apiKey}
}

// Empty tells that there is none.
func (c Credential) Empty() bool { return c == Credential{} }

// String hides the credential.
func (Credential) String() string { return hidden }

// GoString hides the credential.
func (Credential) GoString() string { return hidden }

// LogValue hides the credential.
func (Credential) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON hides the credential.
func (Credential) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
