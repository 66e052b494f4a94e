// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// course is one sequence being taken.
type course struct {
	*cluster
	*plan
	*wishes
	killer *killer

	mu    sync.Mutex // guards told
	began time.Time
	told  []string
}

func newCourse(c *cluster, p *plan) *course {
	k := &course{cluster: c, plan: p, began: time.Now(), wishes: newWishes()}
	k.killer = &killer{operator: c.Operator, audit: c.Env.Audit(), say: k.tell}
	return k
}

func newWishes() *wishes {
	return &wishes{
		wanted: map[string]bool{}, edits: map[string]edit{}, leftAlone: map[ref]types.UID{},
		users: map[ref]*unstructured.Unstructured{}, prepared: map[string]bool{},
	}
}

// tell notes what happens, for failures.
func (c *course) tell(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, fmt.Sprintf("%7.3fs  %s", time.Since(c.began).Seconds(), what))
}

func (c *course) story() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.told, "\n")
}

// take takes the steps, lets everything come to rest, and takes all tenants down.
func (c *course) take(ctx context.Context) error {
	defer c.killer.group.Wait()
	c.pods.failing.Store(c.failing)
	for i, s := range c.steps {
		c.tell(fmt.Sprintf("%2d. %s", i+1, s))
		if s.kill != nil {
			c.killer.begin(ctx, s.kill)
		}
		if err := errors.Join(s.run(ctx, c), pause(ctx, s.wait)); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.name, err)
		}
	}
	if err := c.killer.wait(); err != nil {
		return err
	}
	if err := c.ensure(ctx, databaseSecret()); err != nil { // Without it no key can be revoked.
		return err
	}
	if c.restarts {
		if err := c.killer.kill(ctx, &kill{}); err != nil {
			return err
		}
	}
	if err := c.settle(ctx); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if err := c.takeDown(ctx); err != nil {
		return fmt.Errorf("after all tenants were deleted: %w", err)
	}
	return c.cleanUp(ctx)
}

// settle waits until everything is as it should be and stays so.
func (c *course) settle(ctx context.Context) error {
	const poll, again = 150 * time.Millisecond, 250 * time.Millisecond
	end := time.Now().Add(*patience)
	for calm := false; ; {
		facts, err := c.read(ctx, c.users)
		differences := []string(nil)
		if err == nil {
			differences = compare(facts, c.wishes)
		}
		if err == nil && len(differences) == 0 && calm {
			c.tell("all is as it should be: " + facts.String())
			return nil
		}
		if ended := c.Operator.Err(); ended != nil {
			return ended
		}
		if time.Now().After(end) {
			return errors.Join(err, fmt.Errorf("the cluster differs:\n  %s", strings.Join(differences, "\n  ")))
		}
		calm = err == nil && len(differences) == 0
		wait := poll
		if calm {
			wait = again
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// takeDown deletes all tenants, and waits until nothing of them is left.
func (c *course) takeDown(ctx context.Context) error {
	if err := c.optInAll(ctx); err != nil {
		return err
	}
	// One that never worked would be made again.
	config := &v1alpha1.Config{}
	config.Name = v1alpha1.ConfigName
	if _, err := change(ctx, c.cluster, config, func(o *v1alpha1.Config) { setAnnotation(o, v1alpha1.AnnotationDefaultAITenantBootstrapped, "true") }); err != nil {
		return err
	}
	for name := range c.wanted {
		if err := c.remove(ctx, aiTenant(name)); err != nil {
			return err
		}
		delete(c.wanted, name)
	}
	return c.settle(ctx)
}

// cleanUp puts things back for the next sequence.
func (c *course) cleanUp(ctx context.Context) error {
	for r, user := range c.users {
		if err := c.remove(ctx, user); err != nil {
			return err
		}
		delete(c.users, r)
	}
	return c.restore(ctx)
}

// restore has the Gateways and settings of the beginning.
func (c *cluster) restore(ctx context.Context) error {
	for _, name := range append(names(), "spare") {
		if err := c.remove(ctx, gateway(name)); err != nil {
			return err
		}
	}
	if err := errors.Join(c.ensure(ctx, gateway(stage.GatewayName)), c.ensure(ctx, databaseSecret())); err != nil {
		return err
	}
	config := &v1alpha1.Config{}
	config.Name = v1alpha1.ConfigName
	_, err := change(ctx, c, config, func(o *v1alpha1.Config) { o.Spec = v1alpha1.ConfigSpec{} })
	return err
}

// reset deletes everything after a failure, as well as it can.
func (c *cluster) reset(ctx context.Context) error {
	if !c.Operator.Alive() {
		if err := c.Operator.Start(ctx); err != nil {
			return err
		}
	}
	w := newWishes()
	end := time.Now().Add(*patience)
	for {
		err := errors.Join(c.restore(ctx), c.deleteAll(ctx))
		facts, readErr := c.read(ctx, nil)
		if err = errors.Join(err, readErr); err == nil {
			differences := compare(facts, w)
			if len(differences) == 0 {
				return nil
			}
			err = errors.New(strings.Join(differences, "\n"))
		}
		if time.Now().After(end) {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// deleteAll deletes all tenants, and whatever somebody else made or took.
func (c *cluster) deleteAll(ctx context.Context) error {
	facts, err := c.read(ctx, nil)
	if err != nil {
		return err
	}
	var errs []error
	if facts.config != nil {
		_, err := change(ctx, c, facts.config, func(o *v1alpha1.Config) { setAnnotation(o, v1alpha1.AnnotationDefaultAITenantBootstrapped, "true") })
		errs = append(errs, err)
	}
	for name := range facts.tenants {
		errs = append(errs, c.remove(ctx, aiTenant(name)))
	}
	for r, o := range facts.objects {
		if ours := o.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue; (optedOut(o.GetAnnotations()) || !ours) && r.kind != "Namespace" {
			errs = append(errs, c.remove(ctx, o))
		}
	}
	return errors.Join(errs...)
}

func aiTenant(name string) *v1alpha1.AITenant {
	return builder.Tenant{Name: name, Registry: stage.AITenantNamespace}.AITenant()
}

func setAnnotation(object client.Object, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
}

// ensure creates an object unless it exists.
func (c *cluster) ensure(ctx context.Context, object client.Object) error {
	if err := c.Admin.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// remove deletes an object that may be gone already.
func (c *cluster) remove(ctx context.Context, object client.Object) error {
	if err := c.Admin.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// there reads an object, and tells whether it exists and is to stay.
func (c *cluster) there(ctx context.Context, object client.Object) (bool, error) {
	err := c.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return object.GetDeletionTimestamp() == nil, nil
}

// change changes an object that exists and is to stay; another one is left alone.
func change[T client.Object](ctx context.Context, c *cluster, object T, mutate func(T)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := c.there(ctx, object)
		if err != nil || !there {
			return err
		}
		before, _ := object.DeepCopyObject().(client.Object)
		mutate(object)
		changed = true
		return c.Admin.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("change %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return changed, nil
}
