// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/opendatahub-io/maas-operator/internal/render"

// Requests are the renderings of the policies that are wanted.
func (o Output) Requests() []render.Request {
	var requests []render.Request
	if p := o.AuthPolicy; p != nil {
		requests = append(requests, render.Request{ID: AuthPolicyTemplate, Namespace: p.Meta.Namespace, Name: p.Meta.Name, Values: *p})
	}
	if p := o.TokenRateLimitPolicy; p != nil {
		requests = append(requests, render.Request{ID: TokenRateLimitPolicyTemplate, Namespace: p.Meta.Namespace, Name: p.Meta.Name, Values: *p})
	}
	return requests
}
