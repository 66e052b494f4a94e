// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// request says who asks for the teardown.
type request string

const (
	none request = ""
	// byAnnotation is the older way, of platforms that wait for the completion on the
	// Deployment: the Config goes too.
	byAnnotation request = "annotation"
	// bySpec is spec.managementState of the Config, which stays and tells the result.
	bySpec request = "spec"
)

func (s *scope) request() request {
	switch {
	case s.deployment.Annotations[v1alpha1.AnnotationTeardownRequested] == yes:
		return byAnnotation
	case s.config != nil && s.config.Spec.ManagementState == v1alpha1.ManagementStateRemoved:
		return bySpec
	default:
		return none
	}
}

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch

// tearDown removes everything but user namespaces and objects, when asked to. It
// begins with the mark of the bootstrap: one that is called off brings the default
// tenant back. Each step starts only when the one before has ended, so that the jobs
// of tenants being deleted still have their rights; and each looks at what is there,
// so that it goes on wherever it was interrupted.
func (r *Reconciler) tearDown(ctx context.Context, s *scope) error {
	asked := s.request()
	if asked == none {
		return nil
	}
	s.stopped = true
	s.judge(conditions.False(v1alpha1.ReasonTeardownInProgress, "The installation is being taken down, as asked for."))
	if err := r.annotateConfig(ctx, s, v1alpha1.AnnotationDefaultAITenantBootstrapped, ""); err != nil {
		return err
	}
	for _, step := range r.teardownSteps() {
		s.torn = conditions.False(v1alpha1.ReasonTeardownInProgress, step.waiting)
		gone, err := step.take(ctx)
		if err != nil {
			return err
		}
		if !gone {
			s.again = waitInterval
			return nil
		}
	}
	s.torn = conditions.False(v1alpha1.ReasonTeardownInProgress, "The shared objects are being deleted.")
	if err := r.removeShared(ctx, s); err != nil {
		return err
	}
	if asked == byAnnotation {
		return r.completeOnDeployment(ctx, s)
	}
	slices.Sort(s.notes)
	s.torn = conditions.True(v1alpha1.ReasonTeardownCompleted, strings.Join(s.notes, " "))
	s.ready = conditions.False(v1alpha1.ReasonTeardownCompleted, "The installation was taken down, as asked for. Set spec.managementState to Managed to bring it back.")
	return nil
}

// teardownStep is what has to end before the shared objects may go.
type teardownStep struct {
	// take tells whether it has ended.
	take func(context.Context) (bool, error)
	// waiting is what the condition says until then.
	waiting string
}

func (r *Reconciler) teardownSteps() []teardownStep {
	return []teardownStep{
		{r.removeTenants, "Tenants are being deleted, with their API keys; then the shared objects go. An AITenant that stays says in its status what it waits for."},
		{r.removeTenantConfigs, "MaasTenantConfigs that no AITenant took along are being deleted; then the shared objects go. One that stays says in its status what it waits for."},
		{r.keysRevoked, fmt.Sprintf("API keys of tenants that are gone are being revoked; then the shared objects go. ConfigMaps labelled %s=true in namespace %s remember those tenants, and their events say what is wrong: delete one if there are no such keys any more.",
			v1alpha1.LabelTenantTombstone, strings.Join(r.tombstonePlaces(), " or "))},
	}
}

// removeTenants deletes all AITenants and tells whether none is left. It asks the API
// server: the cache may lag behind what is there to be deleted.
func (r *Reconciler) removeTenants(ctx context.Context) (bool, error) {
	var list v1alpha1.AITenantList
	if err := r.list(ctx, &list); err != nil {
		return false, err
	}
	errs := make([]error, 0, len(list.Items))
	for i := range list.Items {
		errs = append(errs, r.delete(ctx, &list.Items[i]))
	}
	return len(list.Items) == 0, errors.Join(errs...)
}

// removeTenantConfigs does the same with MaasTenantConfigs that no AITenant took
// along. One without the finalizer has nothing in the cluster, and is its user's.
func (r *Reconciler) removeTenantConfigs(ctx context.Context) (bool, error) {
	var list v1alpha1.MaasTenantConfigList
	if err := r.list(ctx, &list); err != nil {
		return false, err
	}
	gone := true
	var errs []error
	for i := range list.Items {
		if config := &list.Items[i]; slices.Contains(config.Finalizers, v1alpha1.FinalizerTenantCleanup) {
			gone = false
			errs = append(errs, r.delete(ctx, config))
		}
	}
	return gone, errors.Join(errs...)
}

// keysRevoked tells whether no tombstone is left. The Jobs that work them off run on
// shared objects. What is no tombstone, whatever its labels say, and one that somebody
// gave up, is not waited for: nobody works it off.
func (r *Reconciler) keysRevoked(ctx context.Context) (bool, error) {
	for _, place := range r.tombstonePlaces() {
		var list corev1.ConfigMapList
		if err := r.list(ctx, &list, client.InNamespace(place), client.MatchingLabels(aitenant.TombstoneLabels())); err != nil {
			return false, err
		}
		for i := range list.Items {
			if _, err := aitenant.TombstoneFrom(&list.Items[i]); err == nil && list.Items[i].DeletionTimestamp == nil {
				return false, nil
			}
		}
	}
	return true, nil
}

// tombstonePlaces are the namespaces in which the controller of AITenants keeps them.
func (r *Reconciler) tombstonePlaces() []string {
	infra := r.Settings.InfraNamespace
	if infra == "" {
		infra = r.Settings.ControllerNamespace
	}
	if infra == r.Settings.AITenantNamespace {
		return []string{infra}
	}
	return []string{r.Settings.AITenantNamespace, infra}
}

// list fills a list with objects of its kind: none when the kind is not installed.
func (r *Reconciler) list(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := r.APIReader.List(ctx, list, options...); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list what is to be deleted: %w", err)
	}
	return nil
}

// delete asks for the deletion of exactly this object, once.
func (r *Reconciler) delete(ctx context.Context, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := object.GetUID()
	err := r.Client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", fetch.KindOf(object), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// completeOnDeployment deletes the Config and, when it is gone, says on the Deployment
// that nothing is left.
func (r *Reconciler) completeOnDeployment(ctx context.Context, s *scope) error {
	config, err := fetch.Optional(ctx, r.APIReader, configKey(), &v1alpha1.Config{})
	if err != nil {
		return err
	}
	s.config = nil // Its status is of no use any more.
	if config != nil {
		s.again = waitInterval
		return r.delete(ctx, config)
	}
	if s.deployment.Annotations[v1alpha1.AnnotationTeardownCompleted] == yes {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Completed the teardown")
	return r.patchDeployment(ctx, s, func(after *metav1.PartialObjectMetadata) {
		after.Annotations[v1alpha1.AnnotationTeardownCompleted] = yes
	})
}
