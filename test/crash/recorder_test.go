// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
)

// recorder follows, from outside, the generated policies and what they are made
// of.
type recorder struct {
	watches []watch.Interface
	group   sync.WaitGroup

	mu     sync.Mutex
	events []happening
}

// happening is one version of an object, or its end.
type happening struct {
	version uint64
	deleted bool
	object  *unstructured.Unstructured
}

// record starts to follow; end it with stop.
func record(ctx context.Context) *recorder {
	GinkgoHelper()
	c, err := client.NewWithWatch(on.Env.AdminConfig(), client.Options{})
	Expect(err).NotTo(HaveOccurred())
	maas := schema.GroupVersion{Group: "maas.opendatahub.io", Version: "v1alpha1"}
	r := &recorder{}
	for _, kind := range []schema.GroupVersionKind{
		kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy, maas.WithKind("MaaSSubscription"), maas.WithKind("MaaSAuthPolicy"),
	} {
		w, err := r.watch(context.WithoutCancel(ctx), c, kind)
		Expect(err).NotTo(HaveOccurred())
		r.watches = append(r.watches, w)
		r.group.Go(func() { r.follow(w) })
	}
	return r
}

// watch takes in what there is of a kind and follows it from there. The API server
// ends watches of those who are slow to read: such a one is begun again where it
// ended.
func (r *recorder) watch(ctx context.Context, c client.WithWatch, kind schema.GroupVersionKind) (watch.Interface, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		r.take(&list.Items[i], false)
	}
	again := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return c.Watch(ctx, list.DeepCopy(), &client.ListOptions{Raw: &o})
	}}
	return watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), again)
}

func (r *recorder) follow(w watch.Interface) {
	for e := range w.ResultChan() {
		if object, ok := e.Object.(*unstructured.Unstructured); ok {
			r.take(object, e.Type == watch.Deleted)
		}
	}
}

func (r *recorder) take(object *unstructured.Unstructured, deleted bool) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return // The server's own business, such as a bookmark.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, happening{version: version, deleted: deleted, object: object})
}

// stop ends the recording and returns what happened, in the order in which the
// API server stored it.
func (r *recorder) stop() []happening {
	for _, w := range r.watches {
		w.Stop()
	}
	r.group.Wait()
	slices.SortStableFunc(r.events, func(a, b happening) int { return cmp.Compare(a.version, b.version) })
	return r.events
}

// replay follows what happened and finds the moments in which somebody lost what
// was granted: a policy that went while one of its contributors lived, or a
// contributor that left a policy, or another limit's counters took over, without
// having been edited.
type replay struct {
	// contributors are the living ones by "<kind> <namespace>/<name>".
	contributors map[string]contributor
	// places says where each contributor of each policy stands in it.
	places map[string]map[string]string
	broken []string
}

type contributor struct {
	// edited ones may stand elsewhere than before: nobody sees from outside which
	// of their versions a policy was made of.
	edited bool
	models map[string]bool
}

// violations replays what happened.
func violations(events []happening) []string {
	r := &replay{contributors: map[string]contributor{}, places: map[string]map[string]string{}}
	for _, e := range events {
		switch e.object.GetKind() {
		case "AuthPolicy", "TokenRateLimitPolicy":
			r.policy(e)
		default:
			r.contributor(e)
		}
	}
	return r.broken
}

func keyOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// contributor takes in a new version of one. Whoever goes or leaves a model may
// leave its policies, too.
func (r *replay) contributor(e happening) {
	key := keyOf(e.object)
	now := contributor{edited: e.object.GetGeneration() > 1, models: map[string]bool{}}
	refs, _, _ := unstructured.NestedSlice(e.object.Object, "spec", "modelRefs")
	for _, ref := range refs {
		entry, _ := ref.(map[string]any)
		now.models[fmt.Sprintf("%v/%v", entry["namespace"], entry["name"])] = true
	}
	gone := e.deleted || e.object.GetDeletionTimestamp() != nil
	for policy, places := range r.places {
		if _, model, _ := strings.Cut(policy, " "); gone || !now.models[model] {
			delete(places, key)
		}
	}
	if gone {
		delete(r.contributors, key)
		return
	}
	r.contributors[key] = now
}

func (r *replay) policy(e happening) {
	labels := e.object.GetLabels()
	policy := e.object.GetKind() + " " + labels["maas.opendatahub.io/model-namespace"] + "/" + labels["maas.opendatahub.io/model"]
	var now map[string]string
	if !e.deleted {
		now = r.standing(e.object)
	}
	for key, place := range r.places[policy] {
		switch there, stands := now[key]; {
		case e.deleted:
			r.fail("%d: %s was deleted although %s lives", e.version, policy, key)
		case !stands:
			r.fail("%d: %s lost %s", e.version, policy, key)
		case place != there && !r.contributors[key].edited:
			r.fail("%d: %s moved %s from %s to %s", e.version, policy, key, place, there)
		}
	}
	r.places[policy] = map[string]string{}
	_, model, _ := strings.Cut(policy, " ")
	for key, place := range now {
		if r.contributors[key].models[model] {
			r.places[policy][key] = place
		}
	}
}

// standing says who stands where in a policy: the limit of a subscription, or
// the list of auth policies.
func (r *replay) standing(policy *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	if policy.GetKind() == "AuthPolicy" {
		for name := range strings.SplitSeq(policy.GetAnnotations()["maas.opendatahub.io/auth-policies"], ",") {
			out["MaaSAuthPolicy "+name] = "the list"
		}
		return out
	}
	model := policy.GetLabels()["maas.opendatahub.io/model-namespace"] + "/" + policy.GetLabels()["maas.opendatahub.io/model"]
	for limit, members := range oracle.MembersOf(policy) {
		for _, member := range members {
			out[member] = limit
		}
	}
	for key := range r.contributors {
		_, name, _ := strings.Cut(key, " ")
		for _, member := range []string{"id " + oracle.IDOf(name, model), "key " + name + "@" + model} {
			if limit, is := out[member]; is {
				delete(out, member)
				out[key] = limit
			}
		}
	}
	return out
}

func (r *replay) fail(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}
