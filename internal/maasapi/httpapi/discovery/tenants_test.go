// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
)

var (
	gatewayResource = schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "gateways"}
	errDown         = errors.New("dial tcp 10.0.0.1:443: secret")
)

// cluster plays the API server: token good is of a user, service of somebody who is
// none.
type cluster struct {
	reviewErr, accessErr, gatewayErr error
	asked                            *[]string
}

func (c cluster) ReviewToken(_ context.Context, token string) (kube.User, error) {
	if c.asked != nil {
		*c.asked = append(*c.asked, token)
	}
	if c.reviewErr != nil {
		return kube.User{}, c.reviewErr
	}
	if token != "good" && token != "service" {
		return kube.User{}, kube.ErrUnauthenticated
	}
	return kube.User{Username: token}, nil
}

func (c cluster) MayUseCluster(_ context.Context, user kube.User) (bool, error) {
	return user.Username == "good", c.accessErr
}

func (c cluster) External(context.Context) (kube.External, error) {
	return kube.External{Protocol: "https", URL: "https://maas.example.com", Port: 443}, c.gatewayErr
}

func TestTenants(t *testing.T) {
	t.Parallel()
	const (
		failed  = `{"error":"Failed to fetch Gateway","details":"Unable to query Gateway resource"}`
		missing = `{"error":"Authentication required","details":"Missing or invalid bearer token"}`
	)
	for name, test := range map[string]struct {
		cluster       cluster
		authorization []string
		status        int
		body          string
	}{
		"a user of the cluster sees the gateway": {
			cluster{},
			[]string{"Bearer good"},
			200,
			`{"tenants":[{"name":"red","gateway":{"name":"maas","namespace":"ingress","protocol":"https","externalUrl":"https://maas.example.com","port":443}}]}`,
		},
		"no credentials":         {cluster{}, nil, 401, missing},
		"another scheme":         {cluster{}, []string{"Basic good"}, 401, missing},
		"a scheme in lower case": {cluster{}, []string{"bearer good"}, 401, missing},
		"a scheme alone":         {cluster{}, []string{"Bearer "}, 401, missing},
		"two credentials":        {cluster{}, []string{"Bearer good", "Bearer good"}, 401, missing},
		"a token of nobody":      {cluster{}, []string{"Bearer bad"}, 401, `{"error":"Authentication failed","details":"Invalid token"}`},
		"somebody who is no user of the cluster": {
			cluster{},
			[]string{"Bearer service"},
			403,
			`{"error":"Insufficient permissions","details":"User is not authorized to access cluster resources"}`,
		},
		"an API server that cannot review is not the caller's fault": {
			cluster{reviewErr: errDown},
			[]string{"Bearer good"},
			503,
			`{"error":"Authentication failed","details":"Token validation error: the API server cannot be asked, try again later"}`,
		},
		"an API server that cannot authorize": {
			cluster{accessErr: errDown},
			[]string{"Bearer good"},
			500,
			`{"error":"Authorization check failed","details":"Unable to verify authenticated user status"}`,
		},
		"a gateway that is not there": {
			cluster{gatewayErr: fmt.Errorf("read: %w", apierrors.NewNotFound(gatewayResource, "maas"))},
			[]string{"Bearer good"},
			404,
			`{"error":"Gateway not found","details":"Gateway maas not found in namespace ingress"}`,
		},
		"a gateway that may not be read":    {cluster{gatewayErr: fmt.Errorf("read: %w", apierrors.NewForbidden(gatewayResource, "maas", errDown))}, []string{"Bearer good"}, 403, failed},
		"a gateway that takes too long":     {cluster{gatewayErr: fmt.Errorf("read: %w", context.DeadlineExceeded)}, []string{"Bearer good"}, 504, failed},
		"an API server that takes too long": {cluster{gatewayErr: fmt.Errorf("read: %w", apierrors.NewTimeoutError("slow", 1))}, []string{"Bearer good"}, 504, failed},
		"an API server that fails":          {cluster{gatewayErr: errDown}, []string{"Bearer good"}, 500, failed},
		"a gateway without a host for clients is our trouble, and says what to do": {
			cluster{gatewayErr: fmt.Errorf("choose: %w", kube.ErrNoHost)},
			[]string{"Bearer good"},
			503,
			`{"error":"Failed to resolve gateway","details":"Gateway maas in namespace ingress has no host that clients can use yet: give a listener with routes a hostname without wildcard, or wait for an address in the status of the Gateway"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routes := discovery.Tenants{
				Tenant: "red", Gateway: types.NamespacedName{Namespace: "ingress", Name: "maas"}, Reviewer: test.cluster, Finder: test.cluster,
			}.Routes()
			r := get(t, "/v1/tenants")
			for _, value := range test.authorization {
				r.Header.Add("Authorization", value)
			}
			w := serve(routes, r)
			if diff := cmp.Diff(test.body, w.Body.String()); w.Code != test.status || diff != "" || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("status %d, want %d, body (-want +got):\n%s", w.Code, test.status, diff)
			}
		})
	}
}
