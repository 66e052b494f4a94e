// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Outcome says what a call did with one object.
type Outcome string

const (
	// Unchanged means that the live object already is as desired; nothing was written.
	Unchanged Outcome = "Unchanged"
	// Created means that the object did not exist.
	Created Outcome = "Created"
	// Updated means that the live object was brought to the desired state.
	Updated Outcome = "Updated"
	// Deleted means that deletion was requested, now or earlier; finalizers may still hold the object.
	Deleted Outcome = "Deleted"
	// NotFound means that there was nothing to delete.
	NotFound Outcome = "NotFound"
	// OptedOut means that the object's annotation takes it out of our hands; it was left alone.
	OptedOut Outcome = "OptedOut"
	// NotOurs means that the object belongs to somebody else; it was left alone.
	NotOurs Outcome = "NotOurs"
	// Failed means that an error was returned and the state is not known to be as desired.
	Failed Outcome = "Failed"
)

const (
	// createOnly is a resourceVersion that no stored object has. The server ignores it when it creates and refuses with
	// a conflict when there is something to merge into: creation without a race.
	createOnly = "1"
	// defaultMemorySize bounds the remembered objects (about 200 bytes each).
	defaultMemorySize = 16384
)

// errOtherUID is why nothing was written for an object of a certain UID and generation.
var errOtherUID = errors.New("the object that it is meant for is gone, or has another spec now")

// Options are the optional parts of an Applier.
type Options struct {
	// FieldOwner is the field manager of all writes; default "maas-controller".
	FieldOwner string
	// FormerManagers are the field managers under which earlier releases created and updated objects. What they own
	// outside metadata is taken over when an object is next written, so that fields no longer wanted disappear. Updates
	// under FieldOwner always count.
	FormerManagers []string
	// APIReader reads past the cache. It is used when the cache is known to be behind, for clean-up and for pruning.
	// Without it those reads go through the client.
	APIReader client.Reader
	// Recorder receives one event per object and call; default none.
	Recorder Recorder
	// MemorySize bounds the number of objects whose normal form is remembered; default 16384.
	MemorySize int
}

// Applier applies and deletes objects. It is safe for concurrent use.
type Applier struct {
	client   client.Client
	reader   client.Reader
	owner    string
	former   []string
	recorder Recorder
	memory   *memory
	placed   *placements
}

// New returns an Applier that reads and writes with c. Reads of unstructured objects through c should be cached.
func New(c client.Client, opts Options) *Applier {
	a := &Applier{client: c, reader: opts.APIReader, owner: opts.FieldOwner, recorder: opts.Recorder}
	if a.reader == nil {
		a.reader = c
	}
	if a.owner == "" {
		a.owner = v1alpha1.FieldOwner
	}
	a.former = append([]string{a.owner}, opts.FormerManagers...)
	if a.recorder == nil {
		a.recorder = discard{}
	}
	size := opts.MemorySize
	if size <= 0 {
		size = defaultMemorySize
	}
	a.memory, a.placed = newMemory(size), newPlacements(size)
	return a
}

// Result is what a call did with one object.
type Result struct {
	Outcome Outcome
	// Live is the object as last seen; nil when there is none. It must not be changed.
	Live *unstructured.Unstructured
	// TookOver says that somebody else had a part in a protected sub-tree and no longer has.
	TookOver bool
	// Repaired says that the object had been as desired before, that the desired object is still the same, and that it
	// was written all the same: somebody else had changed or deleted it.
	Repaired bool
}

// CallOptions vary one call.
type CallOptions struct {
	// Adopt takes over an existing object that is not marked as ours.
	Adopt bool
	// UID is that of the object which desired is meant for. When there is no such object, or another one of its name, the
	// result is a conflict, and nothing is written. Empty means whatever is there, or a new one.
	UID types.UID
	// Generation is that of the object with that UID which desired is meant for. In another one the result is a conflict,
	// too. 0 means any.
	Generation int64
	// Keep is the path of a field that stays as it is when desired does not have it any more, for whoever sets it next.
	Keep []string
}

// Apply makes the live object equal to desired, see the package comment. A conflict that remains after a second look
// is returned so that apierrors.IsConflict recognises it; ErrTerminating and ConflictError are the other special cases.
func (a *Applier) Apply(ctx context.Context, desired *unstructured.Unstructured) (Result, error) {
	return a.ApplyWith(ctx, desired, CallOptions{})
}

// ApplyWith is Apply with options.
func (a *Applier) ApplyWith(ctx context.Context, desired *unstructured.Unstructured, opts CallOptions) (Result, error) {
	want, err := prepare(desired)
	if err != nil {
		return Result{Outcome: Failed}, err
	}
	if want.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
		return Result{Outcome: Failed}, fmt.Errorf("%w: %s %s lacks label %s=%s", ErrInvalidDesired,
			want.GetKind(), want.GetName(), v1alpha1.LabelManagedBy, v1alpha1.ManagedByValue)
	}
	c := &call{want: want, protected: protectedFields(want), opts: opts}
	result, err := a.converge(ctx, c)
	if err != nil && result.Outcome == "" {
		result.Outcome = Failed
	}
	result.TookOver = c.tookOver
	c.repaired = err == nil && a.placed.repaired(c, result.Outcome)
	result.Repaired = c.repaired
	a.recorder.Record(c.event(OperationApply, result.Outcome))
	return result, err
}

// converge judges the cached object, and once more the live one when the cache turns out to be stale.
func (a *Applier) converge(ctx context.Context, c *call) (Result, error) {
	live, err := a.read(ctx, a.client, c)
	if err != nil {
		return Result{}, err
	}
	if live == nil || !a.memory.behind(live) {
		result, err := a.judge(ctx, c.at(live))
		if !isStale(err) {
			return result, err
		}
	}
	if live, err = a.read(ctx, a.reader, c); err != nil {
		return Result{}, err
	}
	return a.judge(ctx, c.at(live))
}

// isStale reports whether an error means that the judged copy was not the newest.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// mean tells whether the options allow to write to a live object.
func (o CallOptions) mean(live *unstructured.Unstructured) bool {
	return o.UID == "" || live != nil && live.GetUID() == o.UID && (o.Generation == 0 || live.GetGeneration() == o.Generation)
}

// judge decides on one copy of the live object what to do, and does it.
func (a *Applier) judge(ctx context.Context, c *call) (Result, error) {
	live := c.live
	switch {
	case !c.opts.mean(live):
		return Result{Live: live}, fmt.Errorf("apply %s: %w", c, apierrors.NewConflict(
			schema.GroupResource{Group: c.want.GroupVersionKind().Group, Resource: c.want.GetKind()}, c.want.GetName(), errOtherUID))
	case live == nil:
		return a.create(ctx, c)
	case optedOut(live):
		return Result{Outcome: OptedOut, Live: live}, nil
	case live.GetDeletionTimestamp() != nil:
		return Result{Live: live}, fmt.Errorf("apply %s: %w", c, ErrTerminating)
	case !c.opts.Adopt && !a.ours(live):
		return Result{Outcome: NotOurs, Live: live}, &ConflictError{
			GVK: live.GroupVersionKind(), Key: c.key(),
			Label: v1alpha1.LabelManagedBy, Value: v1alpha1.ManagedByValue, Found: live.GetLabels()[v1alpha1.LabelManagedBy],
		}
	}
	c.diff = a.compare(c.want, live)
	same, err := a.isSettled(ctx, c)
	if err != nil {
		return Result{Live: live}, err
	}
	if same {
		return Result{Outcome: Unchanged, Live: live}, nil
	}
	return a.update(ctx, c)
}

func (a *Applier) create(ctx context.Context, c *call) (Result, error) {
	live, err := a.serverApply(ctx, c, createOnly, false)
	if err != nil {
		return Result{}, err
	}
	// Nobody else had a part in it: what differs is the server's own doing.
	if err := a.memory.remember(c.want, live, a.compare(c.want, live)); err != nil {
		return Result{Live: live}, err
	}
	return Result{Outcome: Created, Live: live}, nil
}

func (a *Applier) update(ctx context.Context, c *call) (Result, error) {
	before := c.live
	var live *unstructured.Unstructured
	var err error
	if len(c.protected) > 0 {
		live, err = a.updateProtected(ctx, c)
	} else {
		live, err = a.updateFields(ctx, c)
	}
	if err != nil {
		return Result{Live: before}, err
	}
	if err := a.memory.remember(c.want, live, a.compare(c.want, live)); err != nil {
		return Result{Live: live}, err
	}
	outcome := Updated
	switch {
	case live.GetUID() != before.GetUID():
		outcome = Created // it was deleted meanwhile
	case live.GetResourceVersion() == before.GetResourceVersion():
		outcome = Unchanged
	}
	return Result{Outcome: outcome, Live: live}, nil
}

// updateFields applies the desired object, after taking over the fields that an earlier release left behind. What
// others added stays, unless the object is refused with it beside what is desired.
func (a *Applier) updateFields(ctx context.Context, c *call) (*unstructured.Unstructured, error) {
	base, _, err := a.takeOver(ctx, c, c.live, a.isFormer)
	if err != nil {
		return nil, err
	}
	if base, err = a.keep(ctx, c, base); err != nil {
		return nil, err
	}
	live, err := a.serverApply(ctx, c, base.GetResourceVersion(), false)
	if !apierrors.IsInvalid(err) {
		return live, err
	}
	base, others, takeErr := a.takeOver(ctx, c, base, a.ownsContent)
	if takeErr != nil || !others {
		return nil, errors.Join(err, takeErr)
	}
	c.tookOver = true
	return a.serverApply(ctx, c, base.GetResourceVersion(), false)
}

// takeOver makes ours what certain entries own of an object's content, so that the next apply removes what of it is
// not desired. It reports whether there was anything.
func (a *Applier) takeOver(
	ctx context.Context, c *call, live *unstructured.Unstructured, from func(entry any) bool,
) (*unstructured.Unstructured, bool, error) {
	obj := live.DeepCopy()
	if !a.inherit(obj, from) {
		return live, false, nil
	}
	c.count(false)
	// A patch sends nothing but the record of ownership, and needs no other right than applying does.
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, obj, patch, client.FieldOwner(a.owner)); err != nil {
		return nil, false, fmt.Errorf("take over the fields of %s: %w", c, err)
	}
	return obj, true, nil
}

// isSettled reports whether the live object needs no write: nothing differs, or only what the server makes of the
// desired object. The latter is asked once per object, and only when no earlier write or question tells.
func (a *Applier) isSettled(ctx context.Context, c *call) (bool, error) {
	known, isKnown := a.memory.get(c.live.GetUID())
	if c.diff.empty() {
		if isKnown && known.resourceVersion == c.live.GetResourceVersion() {
			return true, nil
		}
		return true, a.memory.remember(c.want, c.live, c.diff)
	}
	if isKnown {
		state, err := digestOf(c.want, c.diff)
		return err == nil && state == known.state, err
	}
	same, err := a.isNormal(ctx, c)
	if err != nil || !same {
		return false, err
	}
	return true, a.memory.remember(c.want, c.live, c.diff)
}

// isNormal asks the server by a dry run whether writing the desired object would change anything.
func (a *Applier) isNormal(ctx context.Context, c *call) (bool, error) {
	if len(c.protected) > 0 {
		if len(c.diff.owned) > 0 {
			return false, nil // metadata has no normal form but its own
		}
		return a.isNormalForm(ctx, c, c.live)
	}
	if a.ownTree(c.live) == nil {
		return false, nil // nothing is ours yet
	}
	probe, err := a.serverApply(ctx, c, c.live.GetResourceVersion(), true)
	if apierrors.IsInvalid(err) {
		return false, nil // the write finds out whose fault it is
	}
	if err != nil {
		return false, err
	}
	return a.sameContent(probe, c.live), nil
}

// sameContent compares two copies of one object without what the server counts on every write.
func (a *Applier) sameContent(x, y *unstructured.Unstructured) bool {
	if !reflect.DeepEqual(a.ownTree(x), a.ownTree(y)) {
		return false
	}
	bare := func(u *unstructured.Unstructured) map[string]any {
		u = u.DeepCopy()
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		u.SetGeneration(0)
		return u.Object
	}
	return equalValues(bare(x), bare(y))
}

// serverApply sends the desired object with force, under the condition that the live object is the one judged.
func (a *Applier) serverApply(ctx context.Context, c *call, resourceVersion string, dryRun bool) (*unstructured.Unstructured, error) {
	obj := c.want.DeepCopy()
	obj.SetResourceVersion(resourceVersion)
	obj.SetUID(c.opts.UID)
	opts := []client.ApplyOption{client.FieldOwner(a.owner), client.ForceOwnership}
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	c.count(dryRun)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), opts...); err != nil {
		return nil, fmt.Errorf("apply %s: %w", c, err)
	}
	return obj, nil
}

// read returns the live object, or nil when there is none.
func (a *Applier) read(ctx context.Context, from client.Reader, c *call) (*unstructured.Unstructured, error) {
	live, err := get(ctx, from, c.want.GroupVersionKind(), c.key())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return live, nil
}

// get reads one object; NotFound and a missing kind are errors.
func get(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	if err := from.Get(ctx, key, live); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, keyString(key), err)
	}
	return live, nil
}

// isAbsent reports whether an error means that the object or its whole kind does not exist.
func isAbsent(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}
