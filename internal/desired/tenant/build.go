// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// builder holds what all objects of a tenant are made from.
type builder struct {
	Input
	labels map[string]string
}

// Build computes the objects of a tenant. With an [apperr.UserError] the user must
// act before there is a Workload, and what the cluster holds of it must stay as it
// is until then; the Guard that comes with the error holds all the same.
func Build(in Input) (Output, error) {
	b := builder{Input: in, labels: Labels(in.Tenant, in.Config.Namespace)}
	policies := access.Input{Tenant: in.Tenant, AcceptKeyHeader: in.AcceptKeyHeader, Settings: in.Settings.Access, Labels: b.labels}
	var out Output
	if in.GatewayExists {
		guard, err := access.Guard(policies)
		if err != nil {
			return Output{}, fmt.Errorf("compute the guard of Gateway %s: %w", in.Tenant.Gateway, err)
		}
		out.Guard = guard
	}
	policy, err := access.MaaSAPIPolicy(policies)
	if err != nil {
		return out, fmt.Errorf("compute the AuthPolicy of maas-api of tenant %s: %w", in.Tenant.Name, err)
	}
	deployment, warnings := b.deployment()
	out.Warnings = warnings
	out.Workload = append(b.rights(), deployment, b.service(), policy, b.route(), b.keyCleanup())
	b.optional(&out)
	return out, nil
}

// numRights is the number of objects about rights.
const numRights = 8

// rights are the ServiceAccount of maas-api and what it may do.
func (b builder) rights() []render.Request {
	t, infra := b.Tenant, b.Settings.InfraNamespace
	account := b.meta(infra, t.MaaSAPI())
	subscriptions := b.meta(b.Config.Namespace, t.MaaSAPISubscriptionsRole())
	database := b.meta(infra, t.MaaSAPIDatabaseRole())
	requests := make([]render.Request, 0, numRights)
	requests = append(requests,
		request(ServiceAccountTemplate, account, values.MaaSAPIServiceAccount{Meta: account}),
		b.bind(ClusterRoleBindingTemplate, b.meta("", t.MaaSAPI()), ClusterRole),
		request(SubscriptionsRoleTemplate, subscriptions, values.MaaSAPIRole{Meta: subscriptions}),
		b.bind(SubscriptionsRoleBindingTemplate, subscriptions, subscriptions.Name),
		request(DatabaseRoleTemplate, database, values.MaaSAPIRole{Meta: database}),
		b.bind(DatabaseRoleBindingTemplate, database, database.Name),
	)
	if !b.GatewayExists {
		return requests
	}
	gateway := b.meta(t.Gateway.Namespace, t.MaaSAPIGatewayRole())
	return append(requests,
		request(GatewayRoleTemplate, gateway, values.MaaSAPIGatewayRole{Meta: gateway, Gateway: t.Gateway.Name}),
		b.bind(GatewayRoleBindingTemplate, gateway, gateway.Name),
	)
}

// bind gives maas-api a role.
func (b builder) bind(id render.ID, meta values.Meta, role string) render.Request {
	return request(id, meta, values.MaaSAPIBinding{
		Meta: meta, Role: role,
		ServiceAccount: values.ServiceAccountRef{Name: b.Tenant.MaaSAPI(), Namespace: b.Settings.InfraNamespace},
	})
}

// optional adds the objects whose kinds not every cluster serves.
func (b builder) optional(out *Output) {
	if b.Settings.Platform != OpenShift {
		if b.Served[CertificateCRD] {
			out.Workload = append(out.Workload, b.certificate())
		} else {
			out.Warnings = append(out.Warnings, Warning{
				Reason: v1alpha1.ReasonPrerequisitesWarning,
				Message: "The cluster does not serve " + CertificateCRD + ", so that nothing makes the serving certificate of maas-api: install cert-manager, or make Secret " +
					b.Settings.InfraNamespace + "/" + b.Tenant.MaaSAPIServingCert() + " with tls.crt, tls.key and ca.crt.",
			})
		}
	}
	if b.Served[DestinationRuleCRD] {
		if b.GatewayExists {
			out.Workload = append(out.Workload, b.backendTLS())
		}
		return
	}
	out.Warnings = append(out.Warnings, Warning{
		Reason: v1alpha1.ReasonPrerequisitesWarning,
		Message: "The cluster does not serve " + DestinationRuleCRD + ", so that nothing tells the Gateway to reach maas-api by TLS: install Istio, or configure TLS to Service " +
			b.Settings.InfraNamespace + "/" + b.Tenant.MaaSAPIService() + ".",
	})
}

// meta is the metadata of an object of maas-api.
func (b builder) meta(namespace, name string) values.Meta {
	return values.Meta{Namespace: namespace, Name: name, Labels: with(b.labels, v1alpha1.LabelComponent, v1alpha1.ComponentAPI)}
}

// request asks for an object with the metadata that its values hold.
func request(id render.ID, meta values.Meta, v any) render.Request {
	return render.Request{ID: id, Namespace: meta.Namespace, Name: meta.Name, Values: v}
}
