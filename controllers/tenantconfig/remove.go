// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// goneDelay is how long what is being deleted gets for its finalizers before we look
// again. Watches tell sooner as a rule.
const goneDelay = 5 * time.Second

// handBackDelay is how often we look whether something that somebody took out of our
// hands, and that others wait for, was handed back or deleted, or a Gateway let go.
const handBackDelay = 30 * time.Second

// takeDown removes everything of a tenant whose config is being deleted: first what
// its users made for it, then what runs, at last the policies that guarded it. Labels
// of the config, and whether its tenant can be told, do not matter.
func (r *Reconciler) takeDown(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.config, v1alpha1.FinalizerTenantCleanup) {
		s.ignore()
		return nil
	}
	if s.config.Name != v1alpha1.DefaultTenantConfigName {
		// Nothing was ever made for it: what is in its namespace is another config's.
		s.ignore()
		return finalizer.Drop(ctx, r.Client, s.config, v1alpha1.FinalizerTenantCleanup)
	}
	s.deleting("Subscriptions and auth policies of the tenant are being deleted.")
	left, err := r.deleteMembers(ctx, s.config.Namespace)
	if err != nil {
		s.blocked("Subscriptions and auth policies of the tenant could not be deleted; see the controller's log. It is tried again.")
		return err
	}
	if left {
		s.lookAgain(goneDelay)
		return nil
	}
	s.deleting("The tenant's services are being removed.")
	if err := r.discardPlugins(ctx, s.config); err != nil {
		s.blocked("The configuration of the tenant's payload processing could not be deleted; see the controller's log. It is tried again.")
		return err
	}
	gone, err := r.sweep(ctx, s)
	if err != nil || !gone {
		return err
	}
	if err := finalizer.Drop(ctx, r.Client, s.config, v1alpha1.FinalizerTenantCleanup); err != nil {
		return err
	}
	s.silent = true
	return nil
}

func (s *scope) deleting(message string) {
	s.halt(tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonDeletionInProgress, Message: message, Phase: v1alpha1.TenantPhasePending})
}

func (s *scope) blocked(message string) {
	s.halt(tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonRemovalBlocked, Message: message, Phase: v1alpha1.TenantPhaseFailed})
}

// remove takes the services away of a tenant that is annotated Removed. Its keys, its
// namespace and what its users made stay.
func (r *Reconciler) remove(ctx context.Context, s *scope) error {
	if s.config.Annotations[v1alpha1.AnnotationManagementState] != stateRemoved {
		return nil
	}
	removed := tenantstatus.Halt{
		Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonRemoved, Phase: v1alpha1.TenantPhasePending, Idle: true,
		Message: fmt.Sprintf("The tenant's services are removed, because the annotation %s is %s. Its keys and its namespace stay. Remove the annotation to have the services back.", v1alpha1.AnnotationManagementState, stateRemoved),
	}
	ready := meta.FindStatusCondition(s.config.Status.Conditions, string(v1alpha1.ConditionReady))
	if ready != nil && ready.Reason == string(v1alpha1.ReasonRemoved) && len(s.config.Status.Inventory) == 0 {
		s.halt(removed)
		return nil
	}
	s.wait(v1alpha1.ReasonWaitingForRemovedTeardown, "The tenant's services are being removed, because it is annotated so.")
	gone, err := r.sweep(ctx, s)
	if err == nil && gone {
		s.halt(removed)
	}
	return err
}

// sweep removes what is in the inventory, and what carries the tenant's labels. The
// Kuadrant policies go last, after nothing is left that they guard. It reports whether
// nothing is left at all; what somebody opted out of management does not count.
func (r *Reconciler) sweep(ctx context.Context, s *scope) (bool, error) {
	for _, part := range parts() {
		deletions, err := r.sweepPart(ctx, s, part)
		r.reportLeftBehind(ctx, s, deletions)
		if err != nil {
			if failed := first(deletions, apply.Failed); failed != "" {
				s.blocked(failed + " could not be removed; see the controller's log. It is tried again.")
			} else {
				s.blocked("Objects of the tenant could not be looked for; see the controller's log. It is tried again.")
			}
			return false, err
		}
		if route := openRoute(deletions); route != "" {
			s.blocked(fmt.Sprintf("%s is annotated %s=false and still leads to maas-api, so the policies that guard it stay too: remove the annotation, or delete the route.", route, v1alpha1.AnnotationManaged))
			s.lookAgain(handBackDelay)
			return false, nil
		}
		if waiting := first(deletions, apply.Deleted); waiting != "" {
			s.facts.Halt.Message += " " + waiting + " is not gone yet."
			s.lookAgain(goneDelay)
			return false, nil
		}
	}
	s.config.Status.Inventory = nil
	return true, nil
}

// openRoute names a route that somebody opted out of management and that stays; empty
// if there is none.
func openRoute(deletions []apply.Deletion) string {
	routes := slices.DeleteFunc(slices.Clone(deletions), func(d apply.Deletion) bool { return d.Ref.Group != gwapiv1.GroupName })
	return first(routes, apply.OptedOut)
}

// parts are the kinds in the order in which objects are removed, each once what comes
// before is gone: what has a Gateway ask a processor, without which requests would fail;
// then what serves; and what guards.
func parts() []func(schema.GroupKind) bool {
	return []func(schema.GroupKind) bool{
		asking,
		func(kind schema.GroupKind) bool { return !asking(kind) && !guarding(kind) },
		guarding,
	}
}

// guarding kinds protect a Gateway or a route; the others are protected.
func guarding(kind schema.GroupKind) bool { return kind.Group == kuadrant.AuthPolicy.Group }

// targeting kinds are policies of Kuadrant, which are in error without what they target.
func targeting(kind schema.GroupKind) bool {
	return guarding(kind) || strings.HasSuffix(kind.Group, "."+kuadrant.AuthPolicy.Group)
}

func asking(kind schema.GroupKind) bool { return kind == envoyFilters.GroupKind }

// sweepPart requests the deletion of the objects of some kinds. All are tried.
func (r *Reconciler) sweepPart(ctx context.Context, s *scope, of func(schema.GroupKind) bool) ([]apply.Deletion, error) {
	pruned, err := r.Applier.Prune(ctx, part(s.recorded(), of), nil, apply.PruneOptions{Tracking: tracking(s.config)})
	deletions, errs := pruned.Deletions, []error{err}
	for _, kind := range kinds() {
		if !of(kind.GroupKind()) {
			continue
		}
		more, err := r.Applier.DeleteAllByLabels(ctx, kind, made(s.config), "")
		deletions, errs = append(deletions, more...), append(errs, err)
	}
	return deletions, errors.Join(errs...)
}

// tracking are labels on everything that was made for the config, whatever its own
// labels say by now.
func tracking(config *v1alpha1.MaasTenantConfig) map[string]string {
	return map[string]string{v1alpha1.LabelTenantNamespace: config.Namespace}
}

// made are labels that tell what was made for the config from what the AITenant made.
func made(config *v1alpha1.MaasTenantConfig) map[string]string {
	labels := tracking(config)
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue
	labels[v1alpha1.LabelPartOf] = v1alpha1.PartOfMaaS
	return labels
}

// part are the references of some kinds.
func part(inventory apply.Inventory, of func(schema.GroupKind) bool) apply.Inventory {
	var refs []apply.Ref
	for _, ref := range inventory {
		if of(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}) {
			refs = append(refs, ref)
		}
	}
	return apply.NewInventory(refs...)
}

// first names the first object that something became of; empty if it is none.
func first(deletions []apply.Deletion, outcome apply.Outcome) string {
	at := slices.IndexFunc(deletions, func(d apply.Deletion) bool { return d.Outcome == outcome })
	if at < 0 {
		return ""
	}
	return deletions[at].Ref.String()
}

// prune removes what is recorded and no longer wanted, after everything that is wanted
// is in place. What could not be removed stays on the inventory, and is tried again. So
// does what guards the tenant's last Gateway while this one's AuthPolicy has to wait.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	recorded, wanted := s.recorded(), apply.InventoryOf(slices.Concat(s.objects, s.additions())...)
	wanted = wanted.Union(part(recorded, s.uncertain))
	if s.predecessor != "" {
		wanted = wanted.Union(part(recorded, guarding))
	}
	if len(recorded.Without(wanted)) == 0 {
		return nil
	}
	for _, of := range parts() {
		kept := wanted.Union(part(recorded, func(kind schema.GroupKind) bool { return !of(kind) }))
		// The tenant works all the same: the error is for the work queue, once the status
		// is written.
		var pruned apply.Pruned
		pruned, s.unpruned = r.Applier.Prune(ctx, recorded, kept, apply.PruneOptions{Tracking: tracking(s.config)})
		r.reportLeftBehind(ctx, s, pruned.Deletions)
		if failed := first(pruned.Deletions, apply.Failed); failed != "" {
			s.warn(v1alpha1.ReasonRemovalBlocked, failed+" is no longer wanted and could not be removed; see the controller's log. It is tried again.")
		}
		recorded = pruned.Inventory
		if s.unpruned != nil {
			break // What guards stays as long as what it may guard, a processor as long as it is asked.
		}
	}
	s.config.Status.Inventory = recorded.Entries()
	return nil //nolint:nilerr // Documented above: the error goes to the work queue later.
}

// releaseGuards removes the policies of Gateways that no longer exist, that of telemetry
// included. Those of a
// Gateway that does exist stay until others are in place.
func (r *Reconciler) releaseGuards(ctx context.Context, s *scope) error {
	recorded := s.recorded()
	kept := recorded
	for _, ref := range part(recorded, targeting) {
		orphaned, err := r.orphaned(ctx, ref)
		if err != nil {
			return err
		}
		if orphaned {
			kept = kept.Without(apply.NewInventory(ref))
		}
	}
	if len(kept) == len(recorded) {
		return nil
	}
	pruned, err := r.Applier.Prune(ctx, recorded, kept, apply.PruneOptions{Tracking: tracking(s.config)})
	r.reportLeftBehind(ctx, s, pruned.Deletions)
	s.config.Status.Inventory = pruned.Inventory.Entries()
	return err
}

// orphaned tells whether a recorded policy targets a Gateway that does not exist. The
// cache may lack one that was made anew, which must not be left without its guard.
func (r *Reconciler) orphaned(ctx context.Context, ref apply.Ref) (bool, error) {
	for _, kind := range kinds() {
		if kind.GroupKind() != (schema.GroupKind{Group: ref.Group, Kind: ref.Kind}) {
			continue
		}
		policy, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, kuadrant.New(kind))
		if err != nil || policy == nil {
			return false, err
		}
		target := kuadrant.TargetGateway(policy)
		if target == "" {
			return false, nil
		}
		gateway, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: ref.Namespace, Name: target}, &gwapiv1.Gateway{})
		return gateway == nil, err
	}
	return false, nil
}

// reportLeftBehind tells of objects that somebody opted out of management.
func (r *Reconciler) reportLeftBehind(ctx context.Context, s *scope, deletions []apply.Deletion) {
	told := map[apply.Ref]bool{}
	for _, d := range deletions {
		if d.Outcome != apply.OptedOut || told[d.Ref] {
			continue
		}
		told[d.Ref] = true
		ctrl.LoggerFrom(ctx).Info("Leaving an object behind that opted out of management", "objectKind", d.Ref.Kind, "object", d.Ref.Name)
		r.Events.Eventf(s.config, nil, corev1.EventTypeWarning, string(v1alpha1.ReasonOptedOut), string(v1alpha1.ActionDelete),
			"%s is annotated %s=false and stays behind: delete it when it is no longer needed.", d.Ref, v1alpha1.AnnotationManaged)
	}
}

// deleteMembers deletes the subscriptions and auth policies of a namespace and reports
// whether any were left to delete, or still are there.
func (r *Reconciler) deleteMembers(ctx context.Context, namespace string) (bool, error) {
	left := false
	var errs []error
	for _, list := range []client.ObjectList{&v1alpha1.MaaSSubscriptionList{}, &v1alpha1.MaaSAuthPolicyList{}} {
		if err := r.APIReader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			if !meta.IsNoMatchError(err) {
				errs = append(errs, fmt.Errorf("list what the tenant's users made in namespace %s: %w", namespace, err))
			}
			continue
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			errs = append(errs, fmt.Errorf("read a list: %w", err))
		}
		left = left || len(objects) > 0
		for _, object := range objects {
			if member, ok := object.(client.Object); ok {
				errs = append(errs, r.deleteMember(ctx, member))
			}
		}
	}
	return left, errors.Join(errs...)
}

func (r *Reconciler) deleteMember(ctx context.Context, member client.Object) error {
	if member.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := member.GetUID()
	err := r.Client.Delete(ctx, member, client.Preconditions{UID: &uid})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // Another one under the name is met at the next look.
	}
	return fmt.Errorf("delete %s: %w", client.ObjectKeyFromObject(member), err)
}
