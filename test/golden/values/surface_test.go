// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/valuetypes"
)

// source holds the value types.
const source = "../../../templates/values"

// surface is what templates of packagers may rely on, one thing per line.
func surface(t *testing.T) []string {
	t.Helper()
	declared, err := valuetypes.Load(os.DirFS(source))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, component := range desired.Components() {
		lines = append(lines, fmt.Sprintf("template %s %s", component.ID, reflect.TypeOf(component.Values).Name()))
	}
	for _, declaration := range declared {
		if declaration.Underlying != "" {
			lines = append(lines, fmt.Sprintf("type %s %s", declaration.Name, declaration.Underlying))
			continue
		}
		lines = append(lines, fmt.Sprintf("type %s struct", declaration.Name))
		for _, field := range declaration.Fields {
			lines = append(lines, fmt.Sprintf("field %s.%s %s", declaration.Name, field.Name, field.Type))
		}
	}
	slices.Sort(lines)
	return append([]string{"contract " + values.ContractVersion}, lines...)
}

// withdrawn returns the lines of before that now lacks.
func withdrawn(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(line string) bool { return slices.Contains(now, line) })
}

func TestTheContractIsOnlyAddedTo(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", values.ContractVersion+".txt")
	recorded, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("read the contract: %v", err)
	}
	now := surface(t)
	before := strings.FieldsFunc(string(recorded), func(r rune) bool { return r == '\n' })
	if gone := withdrawn(before, now); len(gone) > 0 {
		t.Fatalf("contract %s no longer has\n  %s\nAdding is fine, with -update. Removing, renaming or retyping breaks templates that others maintain: "+
			"keep the old field beside the new one, or raise values.ContractVersion.", values.ContractVersion, strings.Join(gone, "\n  "))
	}
	golden.Text(t, file, []byte(strings.Join(now, "\n")+"\n"))
}

func TestWithdrawnFindsWhatBreaksTemplates(t *testing.T) {
	t.Parallel()
	before := []string{"contract v1", "field A.B string", "type A struct"}
	for name, tc := range map[string]struct{ now, want []string }{
		"an added field":   {[]string{"contract v1", "field A.B string", "field A.C bool", "type A struct"}, []string{}},
		"a removed field":  {[]string{"contract v1", "type A struct"}, []string{"field A.B string"}},
		"a renamed field":  {[]string{"contract v1", "field A.C string", "type A struct"}, []string{"field A.B string"}},
		"a retyped field":  {[]string{"contract v1", "field A.B int64", "type A struct"}, []string{"field A.B string"}},
		"a renamed struct": {[]string{"contract v1", "field Z.B string", "type Z struct"}, []string{"field A.B string", "type A struct"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, withdrawn(before, tc.now)); diff != "" {
				t.Errorf("withdrawn (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryValueIsDocumented(t *testing.T) {
	t.Parallel()
	if err := rendertest.Undocumented(os.DirFS(source)); err != nil {
		t.Error(err)
	}
}
