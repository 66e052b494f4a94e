// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelstatus

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames bounds the names in a message, which has room for 1024 bytes.
const maxNames = 10

// conflict names the models that share an alias, sorted, so that the text does not
// depend on the order of a list.
func conflict(namespace string, id Identity) string {
	names := slices.Sorted(slices.Values(id.Siblings))
	listed := strings.Join(names, ", ")
	if len(names) > maxNames {
		listed = strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return fmt.Sprintf("The name %q in a request body also selects %d other MaaSModelRef(s) of namespace %s: %s. Give each model a name of its own.",
		id.Alias, len(names), namespace, listed)
}

// Alias decides which alias the status keeps. A backend that has not published one
// keeps the last known alias of the same spec; a changed spec may mean another
// backend, whose requests must not go by the old name.
func Alias(published, last string, sameSpec bool) string {
	if published != "" || !sameSpec {
		return published
	}
	return last
}
