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

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite runs the tests and stops the shared server, before anybody looks for
// what is left running.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code, started := s.M.Run(), true
	used.Do(func() { started = false })
	if !started {
		return code
	}
	server, err := shared()
	if err == nil {
		err = server.Stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
