// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/opendatahub-io/maas-operator/controllers/trigger"
)

var errDown = errors.New("connection refused")

// recorder is a queue that records what is added, and after which delay.
type recorder struct {
	trigger.Queue
	added map[string]time.Duration
}

func newRecorder() *recorder { return &recorder{added: map[string]time.Duration{}} }

func (r *recorder) Add(item ctrl.Request) { r.added[item.String()] = 0 }

func (r *recorder) AddAfter(item ctrl.Request, after time.Duration) { r.added[item.String()] = after }

func (r *recorder) names() []string {
	var names []string
	for name := range r.added {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var _ workqueue.TypedRateLimitingInterface[ctrl.Request] = &recorder{}

// labelled concerns what its labels name.
func labelled(names ...string) client.Object {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
	for _, name := range names {
		object.Labels[name] = ""
	}
	return object
}

func byLabels(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	for name := range object.GetLabels() {
		keys = append(keys, types.NamespacedName{Namespace: "llm", Name: name})
	}
	return keys, nil
}

func TestAnEventEnqueuesWhatItsObjectsConcern(t *testing.T) {
	t.Parallel()
	h := trigger.Enqueue(byLabels)
	for name, tc := range map[string]struct {
		happens func(context.Context, trigger.Queue)
		want    []string
	}{
		"a creation": {func(ctx context.Context, q trigger.Queue) {
			h.Create(ctx, event.CreateEvent{Object: labelled("a")}, q)
		}, []string{"llm/a"}},
		"an update, before and after": {func(ctx context.Context, q trigger.Queue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: labelled("a", "b"), ObjectNew: labelled("b", "c")}, q)
		}, []string{"llm/a", "llm/b", "llm/c"}},
		"a deletion": {func(ctx context.Context, q trigger.Queue) {
			h.Delete(ctx, event.DeleteEvent{Object: labelled("a", "b")}, q)
		}, []string{"llm/a", "llm/b"}},
		"an object that concerns nobody": {func(ctx context.Context, q trigger.Queue) {
			h.Create(ctx, event.CreateEvent{Object: labelled()}, q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newRecorder()
			tc.happens(t.Context(), q)
			if diff := cmp.Diff(tc.want, q.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADelayIsAskedForEachKey(t *testing.T) {
	t.Parallel()
	q := newRecorder()
	trigger.EnqueueAfter(byLabels, func(key types.NamespacedName) time.Duration {
		return time.Duration(len(key.Name)) * time.Second
	}).Create(t.Context(), event.CreateEvent{Object: labelled("a", "bbb")}, q)
	if diff := cmp.Diff(map[string]time.Duration{"llm/a": time.Second, "llm/bbb": 3 * time.Second}, q.added); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnEventWhoseMappingFailsIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		failing := func(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
			if calls++; calls < 20 {
				return nil, errDown
			}
			return byLabels(ctx, object)
		}
		q, start := newRecorder(), time.Now()
		trigger.Enqueue(failing).Delete(t.Context(), event.DeleteEvent{Object: labelled("a")}, q)
		if diff := cmp.Diff([]string{"llm/a"}, q.names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// Twenty attempts at growing distances, of which none is longer than half a minute.
		if took := time.Since(start); took < time.Minute || took > 20*33*time.Second {
			t.Errorf("tried for %s", took)
		}
	})
}

func TestAMappingThatFailsEndsWithTheController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		q := newRecorder()
		trigger.Enqueue(func(context.Context, client.Object) ([]types.NamespacedName, error) { return nil, errDown }).
			Create(ctx, event.CreateEvent{Object: labelled("a")}, q)
		if len(q.added) > 0 {
			t.Errorf("enqueued %v", q.names())
		}
	})
}

func TestASourceEnqueuesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		q := newRecorder()
		err := trigger.EnqueueOnce(func(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
			if object != nil {
				t.Errorf("asked for %v", object)
			}
			if broken {
				broken = false
				return nil, errDown
			}
			return []types.NamespacedName{{Namespace: "llm", Name: "a"}}, nil
		}).Start(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"llm/a"}, q.names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestASourceThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		down := func(context.Context, client.Object) ([]types.NamespacedName, error) { return nil, errDown }
		if err := trigger.EnqueueOnce(down).Start(ctx, newRecorder()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestAChangeAsAWholeSaysWhatIsDueWhen(t *testing.T) {
	t.Parallel()
	of := func(_ context.Context, before, after client.Object) (trigger.Due, error) {
		due := trigger.Due{}
		for delay, object := range map[time.Duration]client.Object{time.Second: before, 0: after} {
			if object != nil {
				due[types.NamespacedName{Namespace: "llm", Name: object.GetName()}] = delay
			}
		}
		return due, nil
	}
	named := func(name string) client.Object { return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	h := trigger.EnqueueDue(of)
	for name, tc := range map[string]struct {
		happens func(context.Context, trigger.Queue)
		want    map[string]time.Duration
	}{
		"a creation has no before": {func(ctx context.Context, q trigger.Queue) {
			h.Create(ctx, event.CreateEvent{Object: named("a")}, q)
		}, map[string]time.Duration{"llm/a": 0}},
		"an update has both": {func(ctx context.Context, q trigger.Queue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: named("a"), ObjectNew: named("b")}, q)
		}, map[string]time.Duration{"llm/a": time.Second, "llm/b": 0}},
		"a deletion has no after": {func(ctx context.Context, q trigger.Queue) {
			h.Delete(ctx, event.DeleteEvent{Object: named("a")}, q)
		}, map[string]time.Duration{"llm/a": time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newRecorder()
			tc.happens(t.Context(), q)
			if diff := cmp.Diff(tc.want, q.added); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAChangeWhoseMappingFailsIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		q := newRecorder()
		trigger.EnqueueDue(func(_ context.Context, _, after client.Object) (trigger.Due, error) {
			if calls++; calls < 3 {
				return trigger.Due{{Name: "half"}: 0}, errDown
			}
			return trigger.Due{{Namespace: "llm", Name: after.GetName()}: 0}, nil
		}).Create(t.Context(), event.CreateEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, q)
		if diff := cmp.Diff([]string{"llm/a"}, q.names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
