// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Replacement is a template that stands in the place of one of this product.
type Replacement struct {
	// ID is the template that is replaced.
	ID render.ID
	// Base is the digest, in hex, of the template it was made from.
	Base string

	text []byte
}

// file is its path in the overlay.
func (r Replacement) file() string { return path.Join(templatesDir, r.ID.File()) }

// The head of a replacement says what it was made from.
var (
	overridesLine = regexp.MustCompile(`^# overrides: (\S+)@sha256:([0-9a-f]{64})$`)
	contractLine  = regexp.MustCompile(`^# contract: (\S+)$`)
)

// Header returns the head a replacement needs, for a template with a digest.
func Header(id render.ID, digest string) string {
	return fmt.Sprintf("# overrides: %s@sha256:%s\n# contract: %s\n", id, digest, Contract)
}

// readReplacement reads the head.
func readReplacement(id render.ID, content []byte) (Replacement, error) {
	replacement := Replacement{ID: id, text: content}
	lines := strings.SplitN(string(content), "\n", 3)
	if len(lines) < 3 {
		return replacement, errNoHead
	}
	base, contract := overridesLine.FindStringSubmatch(lines[0]), contractLine.FindStringSubmatch(lines[1])
	switch {
	case base == nil || contract == nil:
		return replacement, errNoHead
	case render.ID(base[1]) != id:
		return replacement, fmt.Errorf("replaces %s by its place and %s by its head; they must be the same template", id, base[1])
	case contract[1] != Contract:
		return replacement, fmt.Errorf("is made for contract %s; this release knows %s", contract[1], Contract)
	}
	replacement.Base = base[2]
	return replacement, nil
}

var errNoHead = errors.New(`must begin with the lines "# overrides: <template>@sha256:<digest>" and "# contract: v1"; maasctl templates export writes them`)
