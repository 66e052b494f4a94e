// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/test/standins/host"
)

// The kinds of objects whose operators the stand-in plays.
var (
	authorinoKind = schema.GroupVersionKind{Group: "operator.authorino.kuadrant.io", Version: "v1beta1", Kind: "Authorino"}
	limitadorKind = schema.GroupVersionKind{Group: "limitador.kuadrant.io", Version: "v1alpha1", Kind: "Limitador"}
)

// Operators is a STAND-IN for the operators of Authorino and of Limitador: it says of
// their objects that what they ask for runs, and nothing else. What does run, the test
// starts; nothing that a policy says passes through here.
type Operators struct {
	host *host.Host
}

// StartOperators runs the stand-in until its Stop.
func StartOperators(ctx context.Context, config *rest.Config) (*Operators, error) {
	kinds := map[schema.GroupVersionKind]func(*unstructured.Unstructured) map[string]any{
		authorinoKind: authorinoStatus,
		limitadorKind: limitadorStatus,
	}
	h, err := host.Start(ctx, config, host.Config{
		Name: "engine-operators", Scheme: runtime.NewScheme(), Requires: []schema.GroupVersionKind{authorinoKind, limitadorKind},
		Setup: func(_ context.Context, manager ctrl.Manager) error {
			for kind, status := range kinds {
				if err := report(manager, kind, status); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &Operators{host: h}, nil
}

// Stop ends the stand-in and returns when it is gone. A nil one is fine.
func (o *Operators) Stop() error {
	if o == nil {
		return nil
	}
	return o.host.Stop()
}

// Done is closed when the stand-in has ended.
func (o *Operators) Done() <-chan struct{} { return o.host.Done() }

// report has the objects of a kind carry a status.
func report(manager ctrl.Manager, kind schema.GroupVersionKind, status func(*unstructured.Unstructured) map[string]any) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	c := manager.GetClient()
	return ctrl.NewControllerManagedBy(manager).Named(kind.Kind + "-operator-standin").For(object).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(kind)
			if err := c.Get(ctx, request.NamespacedName, live); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			before := live.DeepCopy()
			live.Object["status"] = status(live)
			if equality.Semantic.DeepEqual(before.Object["status"], live.Object["status"]) {
				return reconcile.Result{}, nil
			}
			if err := c.Status().Patch(ctx, live, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, fmt.Errorf("patch status of %s %s: %w", kind.Kind, request, err)
			}
			return reconcile.Result{}, nil
		}))
}

// ready is a condition with a time that does not change.
func ready(object *unstructured.Unstructured, reason string) map[string]any {
	return map[string]any{
		"type": "Ready", "status": "True", "reason": reason, "message": "",
		"lastTransitionTime": object.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z"),
	}
}

func authorinoStatus(object *unstructured.Unstructured) map[string]any {
	return map[string]any{"conditions": []any{ready(object, "Provisioned")}}
}

// limitadorStatus also says where gateways find it, as Kuadrant passes that on.
func limitadorStatus(object *unstructured.Unstructured) map[string]any {
	condition := ready(object, "Ready")
	return map[string]any{
		"observedGeneration": object.GetGeneration(), "conditions": []any{condition},
		"service": map[string]any{
			"host":  fmt.Sprintf("limitador-%s.%s.svc.cluster.local", object.GetName(), object.GetNamespace()),
			"ports": map[string]any{"http": int64(8080), "grpc": int64(8081)},
		},
	}
}
