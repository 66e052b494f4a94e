// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
)

const (
	settleTimeout = 20 * time.Second
	settlePoll    = 10 * time.Millisecond
)

// Publish creates objects as users do, and writes the status they bring as the
// operator would. Follow it by [Stage.Settle].
func (s *Stage) Publish(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		status := o.DeepCopyObject().(client.Object)
		if err := s.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
		if !adopt(o, status) {
			continue
		}
		if err := s.Admin.Status().Update(ctx, o); err != nil {
			return fmt.Errorf("write status of %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

// adopt gives an object the status of another one, if it has a kind of status that
// tests write.
func adopt(o, from client.Object) bool {
	switch o := o.(type) {
	case *v1alpha1.MaaSModelRef:
		o.Status = from.(*v1alpha1.MaaSModelRef).Status
	case *v1alpha1.MaaSSubscription:
		o.Status = from.(*v1alpha1.MaaSSubscription).Status
	default:
		return false
	}
	return true
}

// Settle returns when the replicas have seen everything that was done to custom
// resources of the default tenant before: it makes one object of each kind and
// waits for what follows from them.
func (s *Stage) Settle(ctx context.Context, replicas ...*Replica) error {
	name := fmt.Sprintf("settle-%d", s.settled.Add(1))
	model := ReadyModel(ModelNamespace, name)
	key := builder.Key(ModelNamespace, name)
	err := s.Publish(ctx, model.Obj(),
		builder.AuthPolicy(Tenant, name, key).Subjects(nil, []string{name}).Obj(),
		builder.Subscription(Tenant, name).Owners(nil, []string{name}).Unlimited(key).Phase(v1alpha1.PhaseActive).Obj())
	if err != nil {
		return err
	}
	for _, r := range replicas {
		err := wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
			seen, err := r.Client().Select(ctx, SelectRequest{Username: name, Model: key.String()})
			return err == nil && seen.AccessAllowed, err
		})
		if err != nil {
			return fmt.Errorf("wait until %s has seen %s: %w", r.options.Name, name, err)
		}
	}
	return nil
}

// ReadyModel is a model of the default tenant as the operator leaves it once it is
// served: below its own path at the gateway, under its own name in bodies.
func ReadyModel(namespace, name string) *builder.ModelRefBuilder {
	return builder.ModelRef(namespace, name).Status(ModelStatus(namespace, name))
}

// ModelStatus is the status of [ReadyModel].
func ModelStatus(namespace, name string) v1alpha1.MaaSModelRefStatus {
	return v1alpha1.MaaSModelRefStatus{
		ObservedGeneration: 1, Phase: v1alpha1.ModelPhaseReady, Tenant: Tenant,
		Endpoint:      "https://" + Hostname + "/" + namespace + "/" + name,
		HTTPRouteName: name, HTTPRouteNamespace: namespace, HTTPRouteHostnames: []string{Hostname},
		HTTPRouteGatewayName: GatewayName, HTTPRouteGatewayNamespace: GatewayNamespace,
	}
}
