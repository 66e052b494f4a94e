// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(logs.Main(m)) }

func TestAnOperatorThatEndsByItselfFailsWhateverComesAfter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := stage.Start(ctx, stage.Options{WithoutOperator: true, CRDs: []testenv.CRDSet{testenv.MaaS}, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Env.Stop() })
	refusesATakenAddress(t, s.Operator)
	endsWhenTold(ctx, t, s.Operator)
	if err := s.Operator.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Admin.List(ctx, &corev1.NamespaceList{}); err != nil || s.Operator.Err() != nil {
		t.Fatalf("before it ended by itself: %v, %v", err, s.Operator.Err())
	}
	if err := syscall.Kill(s.Operator.PID(), syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Operator.Ended():
	case <-time.After(eventually):
		t.Fatal("nobody notices that it ended")
	}
	log := s.Operator.LogFile()
	for what, err := range map[string]error{
		"the reason": s.Operator.Err(), "a request": s.Admin.List(ctx, &corev1.NamespaceList{}),
		"another start": s.Operator.Start(ctx), "a kill": s.Operator.Kill(), "the end of the stage": s.Stop(),
	} {
		if err == nil {
			t.Errorf("%s is in order", what)
			continue
		}
		for _, want := range []string{"ended by itself with 2", log, "SIGABRT"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s does not say %q: %v", what, want, err)
			}
		}
	}
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
}

func endsWhenTold(ctx context.Context, t *testing.T, o *stage.Operator) {
	t.Helper()
	for _, end := range []func() error{o.Stop, o.Kill} {
		if err := o.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil || o.Alive() {
			t.Fatalf("alive = %t, err = %v", o.Alive(), err)
		}
	}
}

// refusesATakenAddress leaves the operator without metrics.
func refusesATakenAddress(t *testing.T, o *stage.Operator) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	taken := listener.Addr().String()
	o.Configure("--metrics-bind-address=" + taken)
	err = o.Start(t.Context())
	if err == nil {
		t.Fatal("it starts without its metrics")
	}
	for _, want := range []string{"it ended", "another program listens", "metrics server", taken, o.LogFile()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if o.Alive() || o.Err() != nil {
		t.Errorf("alive = %t, err = %v", o.Alive(), o.Err())
	}
	// The other tests of this package start it once.
	if attempts, err := filepath.Glob(filepath.Join(logs.Dir(), "operator-*.log")); err != nil || len(attempts) < 4 {
		t.Errorf("it was tried with %v, err = %v", attempts, err)
	}
	o.Configure("--metrics-bind-address=0")
}
