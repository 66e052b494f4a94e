// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// digest is how many hexadecimal digits tell names apart that were shortened.
const digest = 8

// ExternalRouteName is the name of the HTTPRoute made for an ExternalModel of this
// operator's own API group, and of the other objects made for it: the narrowest of
// their kinds, a Service, takes DNS labels only. The prefix keeps it apart from routes of
// the other group. Where the name of the model does not fit, a digest of it tells models
// apart.
func ExternalRouteName(externalModel string) string {
	name := "maas-" + externalModel
	if len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return shorten(strings.ReplaceAll(name, ".", "-"), externalModel, validation.DNS1035LabelMaxLength)
}

// Shortened is a name with at most that many characters: the name itself when it fits.
func Shortened(name string, size int) string {
	if len(name) <= size {
		return name
	}
	return shorten(name, name, size)
}

// shorten ends a name in a digest of what it stands for.
func shorten(name, of string, size int) string {
	sum := sha256.Sum256([]byte(of))
	name = strings.TrimRight(name[:min(len(name), size-digest-1)], "-.")
	return name + "-" + hex.EncodeToString(sum[:])[:digest]
}
