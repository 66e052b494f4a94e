// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package managedns_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/internal/managedns"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

const name = "ai-tenants"

var resource = schema.GroupResource{Resource: "namespaces"}

// cluster is an API server with at most one namespace in it, whose answers a test
// may change, and a clock that runs as fast as somebody waits for it.
type cluster struct {
	client.Client
	clock *clocktesting.FakeClock
	// waited adds up what was waited for.
	waited time.Duration
	// reads, creations and patches count the requests.
	reads, creations, patches int
	// onRead, onCreate and onPatch come before the answer; an error replaces it.
	onRead, onCreate, onPatch func() error
}

func newCluster(existing ...client.Object) *cluster {
	c := &cluster{clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	answer := func(count *int, hook *func() error) error {
		*count++
		if *hook != nil {
			return (*hook)()
		}
		return nil
	}
	c.Client = fakecluster.Holding(scheme.Scheme, existing...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if err := answer(&c.reads, &c.onRead); err != nil {
				return err
			}
			return inner.Get(ctx, key, object, opts...)
		},
		Create: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if err := answer(&c.creations, &c.onCreate); err != nil {
				return err
			}
			return inner.Create(ctx, object, opts...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := answer(&c.patches, &c.onPatch); err != nil {
				return err
			}
			return inner.Patch(ctx, object, patch, opts...)
		},
	}).Build()
	return c
}

// ensure runs Ensure; whenever it waits, the time passes.
func (c *cluster) ensure(t *testing.T) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ended <- managedns.Ensure(t.Context(), managedns.Options{Client: c, Name: name, Clock: c.clock})
	}()
	begin := c.clock.Now()
	defer func() { c.waited = c.clock.Since(begin) }()
	for {
		select {
		case err := <-ended:
			return err
		default:
			if c.clock.HasWaiters() {
				c.clock.Step(time.Second)
			}
		}
	}
}

func (c *cluster) repair(t *testing.T) error {
	t.Helper()
	return managedns.Repair(t.Context(), c, name)
}

// live is the namespace as it is stored; nil when there is none.
func (c *cluster) live(t *testing.T) *corev1.Namespace {
	t.Helper()
	c.onRead = nil
	namespace := &corev1.Namespace{}
	err := c.Get(t.Context(), client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return namespace
}

// end completes the deletion of the namespace.
func (c *cluster) end(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(context.WithoutCancel(t.Context()), namespace); err != nil {
		t.Error(err)
	}
}

func namespace(phase corev1.NamespacePhase, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status:     corev1.NamespaceStatus{Phase: phase},
	}
}

func forbidden() error { return apierrors.NewForbidden(resource, name, errors.New("no")) }

const generated = "opendatahub.io/generated-namespace"

func TestTheNamespaceIsThereAfterwards(t *testing.T) {
	t.Parallel()
	made := map[string]string{generated: "true", "app.kubernetes.io/managed-by": "maas-controller", "app.kubernetes.io/part-of": "maas-controller"}
	foreign := map[string]string{"app.kubernetes.io/managed-by": "somebody", "app.kubernetes.io/part-of": "else"}
	for title, test := range map[string]struct {
		existing   *corev1.Namespace
		want       map[string]string
		wantWrites int
	}{
		"a missing one is created":                     {want: made, wantWrites: 1},                                                  // E-1
		"a foreign one gets one label":                 {existing: namespace("Active", foreign), want: with(foreign), wantWrites: 1}, // E-2
		"one with the label is not written":            {existing: namespace("Active", with(foreign)), want: with(foreign)},          // E-3
		"one without any label gets it":                {existing: namespace("Active", nil), want: with(nil), wantWrites: 1},         // E-4
		"one without a phase is there":                 {existing: namespace("", nil), want: with(nil), wantWrites: 1},               // E-2
		"one that says false gets the value corrected": {existing: namespace("", map[string]string{generated: "false"}), want: with(nil), wantWrites: 1},
	} {
		for how, run := range map[string]func(*cluster, *testing.T) error{"at start": (*cluster).ensure, "by a reconcile": (*cluster).repair} {
			t.Run(title+" "+how, func(t *testing.T) {
				t.Parallel()
				c := newCluster()
				if test.existing != nil {
					c = newCluster(test.existing.DeepCopy())
				}
				if err := run(c, t); err != nil {
					t.Fatal(err)
				}
				if writes := c.creations + c.patches; writes != test.wantWrites {
					t.Errorf("%d writes, want %d", writes, test.wantWrites)
				}
				if diff := cmp.Diff(test.want, c.live(t).Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func with(labels map[string]string) map[string]string {
	out := map[string]string{generated: "true"}
	maps.Copy(out, labels)
	return out
}

// E-5.
func TestAStartWaitsForADeletionToEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Terminating", nil))
	c.onRead = func() error {
		if c.reads == 31 { // One look, and one each two seconds for a minute.
			c.end(t)
		}
		return nil
	}
	if err := c.ensure(t); err != nil {
		t.Fatal(err)
	}
	if c.waited != time.Minute || c.creations != 1 || c.live(t).Labels[generated] != "true" {
		t.Errorf("waited %s, created %d times", c.waited, c.creations)
	}
}

func TestAStartDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Terminating", nil))
	err := c.ensure(t)
	if !errors.Is(err, managedns.ErrTerminating) || c.waited != 90*time.Second || c.creations+c.patches != 0 {
		t.Errorf("err = %v after %s, %d writes", err, c.waited, c.creations+c.patches)
	}
}

// W-50: the label is not forgotten on this way.
func TestANamespaceThatStaysAfterAllIsLabelled(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Terminating", nil))
	c.onRead = func() error {
		if c.reads == 3 {
			if err := c.Status().Update(context.WithoutCancel(t.Context()), namespace("Active", nil)); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	if err := c.ensure(t); err != nil {
		t.Fatal(err)
	}
	if c.live(t).Labels[generated] != "true" || c.creations != 0 {
		t.Errorf("labels %v, %d creations", c.live(t).Labels, c.creations)
	}
}

func TestAReconcileDoesNotWait(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Terminating", nil))
	err := managedns.Repair(t.Context(), c, name)
	if !errors.Is(err, managedns.ErrTerminating) || c.creations+c.patches != 0 {
		t.Errorf("err = %v, %d writes", err, c.creations+c.patches)
	}
}

// E-6.
func TestWhoMayNotReadIsTakenNotToHaveTo(t *testing.T) {
	t.Parallel()
	for title, test := range map[string]struct {
		existing *corev1.Namespace
		deny     func(c *cluster) error
	}{
		"from the beginning": {namespace("Active", nil), func(*cluster) error { return forbidden() }},
		"while waiting": {namespace("Terminating", nil), func(c *cluster) error {
			if c.reads > 1 {
				return forbidden()
			}
			return nil
		}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c := newCluster(test.existing)
			c.onRead = func() error { return test.deny(c) }
			if err := c.ensure(t); err != nil || c.creations+c.patches != 0 {
				t.Errorf("err = %v, %d writes", err, c.creations+c.patches)
			}
		})
	}
}

// E-7.
func TestWhoMayNotCreateIsToldWhichRightIsMissing(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.onCreate = forbidden
	err := c.ensure(t)
	if !apierrors.IsForbidden(err) || c.creations != 1 || c.waited != 0 {
		t.Fatalf("err = %v after %d tries and %s", err, c.creations, c.waited)
	}
	for _, word := range []string{name, "create on namespaces"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %q", err, word)
		}
	}
}

func TestWhoMayNotLabelStartsAllTheSame(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Active", nil))
	c.onPatch = forbidden
	if err := c.ensure(t); err != nil {
		t.Errorf("Ensure() = %v", err)
	}
	if err := managedns.Repair(t.Context(), c, name); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "patch on namespaces") {
		t.Errorf("Repair() = %v, want it to name the right", err)
	}
}

func TestACreationIsTriedAgain(t *testing.T) {
	t.Parallel()
	for title, test := range map[string]struct {
		failures   int
		wantErr    bool
		wantTries  int
		wantWaited time.Duration
	}{
		"it succeeds in the end": {failures: 4, wantTries: 5, wantWaited: 15 * time.Second},
		"it never succeeds":      {failures: 99, wantErr: true, wantTries: 5, wantWaited: 15 * time.Second},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.onCreate = func() error {
				if c.creations <= test.failures {
					return apierrors.NewInternalError(errors.New("busy"))
				}
				return nil
			}
			err := c.ensure(t)
			if (err != nil) != test.wantErr || c.creations != test.wantTries || c.waited != test.wantWaited {
				t.Errorf("err = %v after %d tries and %s", err, c.creations, c.waited)
			}
		})
	}
}

func TestOneThatSomebodyElseCreatesMeanwhileIsLabelled(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.onCreate = func() error {
		c.onCreate = nil
		if err := c.Create(context.WithoutCancel(t.Context()), namespace("Active", map[string]string{"team": "red"})); err != nil {
			t.Error(err)
		}
		return nil
	}
	if err := c.ensure(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(with(map[string]string{"team": "red"}), c.live(t).Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestAnUnknownPhaseIsAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Frozen", nil))
	if err := c.ensure(t); err == nil || c.waited != 0 || !strings.Contains(err.Error(), "Frozen") {
		t.Errorf("err = %v after %s", err, c.waited)
	}
}

func TestAnAPIServerThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.onRead = func() error { return apierrors.NewInternalError(errors.New("down")) }
	if err := c.ensure(t); !apierrors.IsInternalError(err) || c.creations != 0 {
		t.Errorf("err = %v, %d creations", err, c.creations)
	}
}

func TestAStartThatIsCalledOffEnds(t *testing.T) {
	t.Parallel()
	c := newCluster(namespace("Terminating", nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := managedns.Ensure(ctx, managedns.Options{Client: c, Name: name, Clock: c.clock})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
