// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// corner is one sequence's part of the cluster: a plain namespace of its own and
// objects with a common suffix in the namespaces of two tenants.
type corner struct {
	*cluster
	suffix string
	// plain is a namespace that belongs to no tenant.
	plain string
	// tenant is the one beside the default tenant.
	tenant  string
	history oracle.History
	// patience is how long it may take to become what it should be.
	patience time.Duration
	// unhurried waits until nothing is hoped for any more.
	unhurried bool
}

// place is one of the namespaces of a corner.
type place string

const (
	inPlain   place = "plain"
	inDefault place = "default"
	inTenant  place = "tenant"
)

func (c *corner) namespace(p place) string {
	switch p {
	case inPlain:
		return c.plain
	case inTenant:
		return "ai-tenant-" + c.tenant
	default:
		return stage.TenantNamespace
	}
}

func (c *corner) name(short string) string { return short + c.suffix }

func (c *cluster) newCorner(ctx context.Context, id string, moving bool) (*corner, error) {
	k := &corner{cluster: c, suffix: "-" + id, tenant: sharedTenant, patience: *patience, history: oracle.History{
		Frozen: map[string]*unstructured.Unstructured{}, BornLegacy: map[string]bool{}, MaybeLegacy: map[string]bool{}, LegacyLimits: map[string]bool{},
	}}
	var err error
	if k.plain, err = testenv.NewNamespace(ctx, c.Admin, "llm"); err != nil {
		return nil, err
	}
	if !moving {
		return k, nil
	}
	k.tenant = "t" + id
	return k, c.createTenant(ctx, k.tenant)
}

func (c *corner) scope() oracle.Scope {
	return oracle.Scope{Namespaces: []string{c.plain, c.namespace(inDefault), c.namespace(inTenant)}, Suffix: c.suffix}
}

// take takes the steps and returns how their end differs from what the oracle
// says.
func (c *corner) take(ctx context.Context, steps []step) error {
	unhurried := c.unhurried
	c.unhurried = false // Until the end: in between nobody waits longer than need be.
	for i, s := range steps {
		if s.alone {
			if err := c.settle(ctx, func() (string, error) { return c.compare(ctx, c.Admin) }); err != nil {
				return errors.Join(fmt.Errorf("before step %d, %s: %w", i+1, s.name, err), c.cleanUp(ctx))
			}
		}
		if err := s.run(ctx, c); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.name, err)
		}
	}
	c.unhurried = unhurried
	return errors.Join(c.converge(ctx), c.cleanUp(ctx))
}

const (
	// shortPatience is for finding out what a failure needs.
	shortPatience = 10 * time.Second
	// quiet is how long nothing may change then; longer than changes are collected.
	quiet = 700 * time.Millisecond
	poll  = 100 * time.Millisecond
)

// converge waits until the corner is as it should be and stays so, while the
// operator writes nothing.
func (c *corner) converge(ctx context.Context) error {
	return c.settle(ctx, func() (string, error) { return c.rest(ctx) })
}

// settle waits until the corner is as it should be by the cache, and then by a
// closer look.
func (c *corner) settle(ctx context.Context, look func() (string, error)) error {
	end := time.Now().Add(c.patience)
	for {
		difference, err := c.compare(ctx, c.cached)
		if err == nil && difference == "" {
			difference, err = look()
		}
		if err == nil && difference == "" {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(err, fmt.Errorf("the corner in namespace %s differs (-want +got):\n%s", c.plain, difference))
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// rest waits a while, and tells what changed in it, or is not as it should be.
func (c *corner) rest(ctx context.Context) (string, error) {
	mark := audit.Now()
	if err := pause(ctx, quiet); err != nil {
		return "", err
	}
	writes, err := c.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Stored(), audit.Not(audit.IsEvent()), c.isMine)
	if err != nil {
		return "", err
	}
	if len(writes) > 0 {
		return fmt.Sprintf("the operator still writes: %v", writes), nil
	}
	return c.compare(ctx, c.Admin)
}

func (c *corner) isMine(e *audit.Event) bool {
	return e.Namespace == c.plain || strings.HasSuffix(e.Name, c.suffix)
}

func (c *corner) compare(ctx context.Context, from client.Reader) (string, error) {
	facts, err := oracle.Read(ctx, from, c.scope())
	if err != nil {
		return "", err
	}
	history := c.history
	if !c.unhurried {
		history.Now = time.Now()
	}
	return facts.Compare(history), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// cleanUp deletes everything of the corner, and with it shows that nothing
// generated outlives its model.
func (c *corner) cleanUp(ctx context.Context) error {
	for key := range c.history.Frozen {
		kind, name, _ := strings.Cut(key, " ")
		namespace, name, _ := strings.Cut(name, "/")
		policy := policyOfKind(kind)
		policy.SetNamespace(namespace)
		policy.SetName(name)
		if err := c.delete(ctx, policy); err != nil {
			return err
		}
	}
	facts, err := oracle.Read(ctx, c.Admin, c.scope())
	if err != nil {
		return err
	}
	for _, object := range everything(facts) {
		if err := c.delete(ctx, object); err != nil {
			return err
		}
	}
	if c.tenant != sharedTenant {
		if err := c.removeTenant(ctx); err != nil {
			return err
		}
	}
	return eventually(ctx, func() error {
		facts, err := oracle.Read(ctx, c.cached, c.scope())
		if err != nil {
			return err
		}
		var left []string
		for _, o := range everything(facts) {
			left = append(left, fmt.Sprintf("%T %s", o, client.ObjectKeyFromObject(o)))
		}
		for i := range facts.Policies {
			left = append(left, oracle.KeyOf(&facts.Policies[i]))
		}
		if len(left) > 0 {
			return fmt.Errorf("left after everything was deleted: %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// everything lists what the sequence made, foreign policies included.
func everything(f *oracle.Facts) []client.Object {
	var out []client.Object
	for i := range f.Subscriptions {
		out = append(out, &f.Subscriptions[i])
	}
	for i := range f.AuthPolicies {
		out = append(out, &f.AuthPolicies[i])
	}
	for i := range f.Models {
		out = append(out, &f.Models[i])
	}
	for i := range f.Services {
		out = append(out, &f.Services[i])
	}
	for i := range f.Routes {
		out = append(out, &f.Routes[i])
	}
	for i := range f.Policies {
		if strings.HasPrefix(f.Policies[i].GetName(), foreignPrefix) {
			out = append(out, &f.Policies[i])
		}
	}
	return out
}

func (c *corner) removeTenant(ctx context.Context) error {
	config := &v1alpha1.MaasTenantConfig{}
	config.Namespace, config.Name = c.namespace(inTenant), v1alpha1.DefaultTenantConfigName
	tenant := &v1alpha1.AITenant{}
	tenant.Namespace, tenant.Name = stage.AITenantNamespace, c.tenant
	return errors.Join(c.delete(ctx, config), c.delete(ctx, tenant))
}

// delete deletes an object that may be gone already.
func (c *corner) delete(ctx context.Context, object client.Object) error {
	if err := c.Admin.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// create creates an object unless it exists, even if it is about to go.
func (c *corner) create(ctx context.Context, object client.Object) (created bool, err error) {
	err = c.Admin.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return true, nil
}

// change changes an object that exists; one that does not is left alone.
func change[T client.Object](ctx context.Context, c *corner, object T, mutate func(T)) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		mutate(object)
		return c.Admin.Update(ctx, object)
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("change %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return true, nil
}

// gone waits until an object is gone: some have finalizers.
func (c *corner) gone(ctx context.Context, object client.Object) error {
	return eventually(ctx, func() error {
		err := c.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("%T %s is still there", object, client.ObjectKeyFromObject(object))
		}
		return client.IgnoreNotFound(err)
	})
}

func policyOfKind(kind string) *unstructured.Unstructured {
	if kind == kuadrant.AuthPolicy.Kind {
		return kuadrant.New(kuadrant.AuthPolicy)
	}
	return kuadrant.New(kuadrant.TokenRateLimitPolicy)
}

func newService(namespace, name string) *unstructured.Unstructured {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(kserve.GVK())
	service.SetNamespace(namespace)
	service.SetName(name)
	return service
}

func newRoute(namespace, name string) *gwapiv1.HTTPRoute {
	route := &gwapiv1.HTTPRoute{}
	route.Namespace, route.Name = namespace, name
	return route
}

// shrink leaves out steps as long as the rest fails too: halves first, then
// smaller and smaller parts.
func (c *cluster) shrink(ctx context.Context, id string, steps []step, moving bool) (fewer []step, last error) {
	attempts := 0
	for size := len(steps) / 2; size > 0 && attempts < *shrinking; size /= 2 {
		for start := 0; start < len(steps) && attempts < *shrinking; {
			attempts++
			without := slices.Concat(steps[:start], steps[min(start+size, len(steps)):])
			k, err := c.newCorner(ctx, fmt.Sprintf("%sr%d", id, attempts), moving)
			if err != nil {
				return steps, errors.Join(last, err)
			}
			k.patience = shortPatience
			if err := k.take(ctx, without); err != nil {
				steps, last = without, err
			} else {
				start += size
			}
		}
	}
	return steps, last
}
