// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// strict reads one document. Unknown and doubled fields are errors: a slip of the pen
// must not pass for a change that was made.
func strict(content []byte, into any) error {
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		return errors.New("cannot be read: " + err.Error())
	}
	return nil
}
