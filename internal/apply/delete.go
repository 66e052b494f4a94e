// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Deletion is what happened to one object of a clean-up.
type Deletion struct {
	Ref     Ref
	Outcome Outcome
}

// Delete removes one object of ours, by the judgement of Apply: it carries our label or an earlier apply of ours. An
// object that opted out, that is not ours, that does not exist, or whose kind the cluster does not know is no error; the
// outcome says so.
func (a *Applier) Delete(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (Result, error) {
	live, err := a.find(ctx, a.client, gvk, key)
	if err != nil {
		return a.deleted(gvk, key, Result{Outcome: Failed}), err
	}
	result, err := a.deleteLive(ctx, live, nil)
	if isStale(err) {
		if live, err = a.find(ctx, a.reader, gvk, key); err == nil {
			result, err = a.deleteLive(ctx, live, nil)
		}
	}
	if err != nil {
		result.Outcome = Failed
	}
	return a.deleted(gvk, key, result), err
}

// DeleteAllByLabels removes every object of ours of one kind with all the given labels, in one namespace or, when it is
// empty, in all. It reads past the cache. The result tells what became of each object, sorted; those that opted out
// are left behind and listed as such.
func (a *Applier) DeleteAllByLabels(
	ctx context.Context, gvk schema.GroupVersionKind, match map[string]string, namespace string,
) ([]Deletion, error) {
	if len(match) == 0 {
		return nil, fmt.Errorf("delete all %s: no labels given", gvk.Kind)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	selector := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(match)}
	if err := a.reader.List(ctx, list, selector, client.InNamespace(namespace)); err != nil {
		if isAbsent(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list %s to delete: %w", gvk.Kind, err)
	}
	deletions := make([]Deletion, 0, len(list.Items))
	var errs []error
	for i := range list.Items {
		live := &list.Items[i]
		result, err := a.deleteFresh(ctx, live, match)
		errs = append(errs, err)
		deletions = append(deletions, Deletion{Ref: refOf(live), Outcome: result.Outcome})
	}
	sortDeletions(deletions)
	return deletions, errors.Join(errs...)
}

// deleteFresh removes an object just read from the API server, with a second look when it changed since.
func (a *Applier) deleteFresh(ctx context.Context, live *unstructured.Unstructured, match map[string]string) (Result, error) {
	gvk, key := live.GroupVersionKind(), client.ObjectKeyFromObject(live)
	result, err := a.deleteLive(ctx, live, match)
	if isStale(err) {
		if live, err = a.find(ctx, a.reader, gvk, key); err == nil {
			result, err = a.deleteLive(ctx, live, match)
		}
	}
	if err != nil {
		result.Outcome = Failed
	}
	return a.deleted(gvk, key, result), err
}

// find reads one object; nil when it or its kind does not exist.
func (a *Applier) find(
	ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, key types.NamespacedName,
) (*unstructured.Unstructured, error) {
	live, err := get(ctx, from, gvk, key)
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	return live, nil
}

// deleteLive deletes exactly the copy that was judged: its UID and resourceVersion are preconditions. The labels in
// match must be on it too.
func (a *Applier) deleteLive(ctx context.Context, live *unstructured.Unstructured, match map[string]string) (Result, error) {
	switch {
	case live == nil:
		return Result{Outcome: NotFound}, nil
	case optedOut(live):
		return Result{Outcome: OptedOut, Live: live}, nil
	case !a.ours(live) || !labels.SelectorFromSet(match).Matches(labels.Set(live.GetLabels())):
		return Result{Outcome: NotOurs, Live: live}, nil
	case live.GetDeletionTimestamp() != nil:
		return Result{Outcome: Deleted, Live: live}, nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := a.client.Delete(ctx, live.DeepCopy(),
		client.Preconditions{UID: &uid, ResourceVersion: &version},
		client.PropagationPolicy(metav1.DeletePropagationBackground)) // some kinds would orphan their children otherwise
	if isAbsent(err) {
		return Result{Outcome: NotFound}, nil
	}
	if err != nil {
		return Result{Live: live}, fmt.Errorf("delete %s %s: %w", live.GetKind(), keyString(client.ObjectKeyFromObject(live)), err)
	}
	return Result{Outcome: Deleted, Live: live}, nil
}

// deleted reports a deletion to the recorder. An object that is not wanted is not missed any more.
func (a *Applier) deleted(gvk schema.GroupVersionKind, key types.NamespacedName, result Result) Result {
	a.placed.forget(gvk.GroupKind(), key)
	event := Event{GroupKind: gvk.GroupKind(), Operation: OperationDelete, Outcome: result.Outcome}
	if result.Outcome == Deleted && result.Live.GetDeletionTimestamp() == nil {
		event.Writes = 1
	}
	a.recorder.Record(event)
	return result
}
