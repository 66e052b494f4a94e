// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
)

const (
	// reviewTimeout bounds both questions about a token, gatewayTimeout the reading of
	// the Gateway.
	reviewTimeout  = 5 * time.Second
	gatewayTimeout = 10 * time.Second

	bearer = "Bearer "
)

// Messages of the tenants route.
const (
	authenticationRequired = "Authentication required"
	authenticationFailed   = "Authentication failed"
	gatewayFailed          = "Failed to fetch Gateway"
	gatewayQuery           = "Unable to query Gateway resource"
)

// Reviewer tells whose a token is. *kube.Reviewer does.
type Reviewer interface {
	// ReviewToken returns kube.ErrUnauthenticated for a token that is nobody's.
	ReviewToken(ctx context.Context, token string) (kube.User, error)
	// MayUseCluster tells whether somebody is a user of the cluster at all.
	MayUseCluster(ctx context.Context, user kube.User) (bool, error)
}

// GatewayFinder finds where clients reach the gateway. *kube.Gateways does.
type GatewayFinder interface {
	// External returns kube.ErrNoHost when there is no address for clients.
	External(ctx context.Context) (kube.External, error)
}

// Tenants answers GET /v1/tenants. No gateway stands before it that would know who
// asks: it reviews the bearer token itself.
type Tenants struct {
	// Tenant is the one that is served, Gateway its gateway.
	Tenant   string
	Gateway  types.NamespacedName
	Reviewer Reviewer
	Finder   GatewayFinder
}

// Routes is the one route.
func (t Tenants) Routes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/v1/tenants", Audience: httpapi.Public, Handler: http.HandlerFunc(t.serve),
		Family: httpapi.FamilyDetailed, NoStore: true,
	}}
}

type tenantList struct {
	Tenants []tenant `json:"tenants"`
}

type tenant struct {
	Name    string  `json:"name"`
	Gateway gateway `json:"gateway"`
}

type gateway struct {
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	Protocol    string `json:"protocol"`
	ExternalURL string `json:"externalUrl"`
	Port        int32  `json:"port"`
}

func (t Tenants) serve(w http.ResponseWriter, r *http.Request) {
	if !t.admit(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), gatewayTimeout)
	defer cancel()
	external, err := t.Finder.External(ctx)
	if err != nil {
		t.refuse(w, err)
		return
	}
	httpapi.WriteJSON(w, http.StatusOK, tenantList{Tenants: []tenant{{Name: t.Tenant, Gateway: gateway{
		Name: t.Gateway.Name, Namespace: t.Gateway.Namespace,
		Protocol: external.Protocol, ExternalURL: external.URL, Port: external.Port,
	}}}})
}

// admit lets users of the cluster in, and answers everybody else. An API server that
// cannot be asked is our trouble and not the caller's: it is no 401.
func (t Tenants) admit(w http.ResponseWriter, r *http.Request) bool {
	token, ok := tokenOf(r)
	if !ok {
		httpapi.WriteDetailed(w, http.StatusUnauthorized, authenticationRequired, "Missing or invalid bearer token")
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	user, err := t.Reviewer.ReviewToken(ctx, token)
	switch {
	case errors.Is(err, kube.ErrUnauthenticated):
		httpapi.WriteDetailed(w, http.StatusUnauthorized, authenticationFailed, "Invalid token")
		return false
	case err != nil:
		httpapi.WriteDetailed(w, http.StatusServiceUnavailable, authenticationFailed, "Token validation error: the API server cannot be asked, try again later")
		return false
	}
	allowed, err := t.Reviewer.MayUseCluster(ctx, user)
	switch {
	case err != nil:
		httpapi.WriteDetailed(w, http.StatusInternalServerError, "Authorization check failed", "Unable to verify authenticated user status")
		return false
	case !allowed:
		httpapi.WriteDetailed(w, http.StatusForbidden, "Insufficient permissions", "User is not authorized to access cluster resources")
		return false
	default:
		return true
	}
}

// tokenOf is the bearer token. Of two nobody can tell which one counts.
func tokenOf(r *http.Request) (string, bool) {
	values := r.Header[headerAuthorization]
	if len(values) != 1 {
		return "", false
	}
	token, found := strings.CutPrefix(values[0], bearer)
	token = strings.TrimSpace(token)
	return token, found && token != ""
}

// refuse answers for a Gateway that cannot be read or has nothing for clients.
func (t Tenants) refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, kube.ErrNoHost):
		httpapi.WriteDetailed(w, http.StatusServiceUnavailable, "Failed to resolve gateway",
			"Gateway "+t.Gateway.Name+" in namespace "+t.Gateway.Namespace+" has no host that clients can use yet: give a listener with routes a hostname without wildcard, or wait for an address in the status of the Gateway")
	case apierrors.IsNotFound(err):
		httpapi.WriteDetailed(w, http.StatusNotFound, "Gateway not found", "Gateway "+t.Gateway.Name+" not found in namespace "+t.Gateway.Namespace)
	case apierrors.IsForbidden(err):
		httpapi.WriteDetailed(w, http.StatusForbidden, gatewayFailed, gatewayQuery)
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded):
		httpapi.WriteDetailed(w, http.StatusGatewayTimeout, gatewayFailed, gatewayQuery)
	default:
		httpapi.WriteDetailed(w, http.StatusInternalServerError, gatewayFailed, gatewayQuery)
	}
}
