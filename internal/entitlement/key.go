// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// shortIDLength is the number of hexadecimal digits of a short id.
const shortIDLength = 16

// ModelScopedKey identifies a subscription on one model:
// <subscription namespace>/<name>@<model namespace>/<MaaSModelRef name>. The
// generated AuthPolicy produces the same string for every request.
func ModelScopedKey(subscription, model types.NamespacedName) string {
	return subscription.String() + "@" + model.String()
}

// ShortID is the compact form of a model-scoped key: the first 16 hexadecimal
// digits of its SHA-256, in lower case.
func ShortID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:shortIDLength]
}
