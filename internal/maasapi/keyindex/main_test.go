// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/opendatahub-io/maas-operator/test/postgres"
)

// shared is the server of the tests that do nothing to the server itself.
var shared = sync.OnceValues(func() (*postgres.Server, error) {
	return postgres.Start(context.Background(), postgres.Options{})
})

// used is set once the shared server is asked for.
var used sync.Once

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		started := true
		used.Do(func() { started = false })
		if started {
			if server, err := shared(); err == nil {
				if err := server.Stop(); err != nil {
					fmt.Fprintln(os.Stderr, err)
					code = 1
				}
			}
		}
		os.Exit(code)
	}))
}
