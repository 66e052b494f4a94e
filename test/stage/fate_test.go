// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

func TestAPanicThatAProgramSurvivesIsFound(t *testing.T) {
	t.Parallel()
	const said = `{"level":"INFO","msg":"Observed a panic in reconciler: nil map","controller":"priority"}`
	for log, want := range map[string]bool{
		"{\"msg\":\"Starting\"}\n" + said + "\n{\"msg\":\"Stopped\"}\n": true,
		"{\"msg\":\"Starting\"}\n":                                      false,
		"":                                                              false,
	} {
		p := &process.Process{Name: "program", Log: filepath.Join(t.TempDir(), "program.log")}
		if err := os.WriteFile(p.Log, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		err := survivedPanic(p)
		if (err != nil) != want || err != nil && !strings.Contains(err.Error(), said) {
			t.Errorf("of %q it says %v", log, err)
		}
	}
}
