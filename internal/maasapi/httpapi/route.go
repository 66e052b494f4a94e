// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"net/http"
	"time"
)

// Audience says who may call a route.
type Audience int

const (
	// Public routes are for clients; the gateway passes them on.
	Public Audience = iota
	// Internal routes are for the gateway's authorization server and for jobs of
	// the cluster. A request that came through a gateway never reaches them.
	Internal
)

// Route is one path and verb of the service.
type Route struct {
	// Method is the verb.
	Method string
	// Pattern is a path without a trailing slash, for example "/v1/api-keys/{id}".
	// A segment in braces stands for any segment, which [http.Request.PathValue]
	// returns; a literal segment wins over it. Metrics and spans call the route
	// "/v1/api-keys/:id".
	Pattern string
	// Audience decides on which listener the route is served.
	Audience Audience
	Handler  http.Handler
	// MaxBody is the largest request body in bytes; 0 means [DefaultMaxBody].
	MaxBody int64
	// Timeout ends the request's context. 0 means [DefaultTimeout], and for quiet
	// routes none: their handlers bound each call they make.
	Timeout time.Duration
	// Family is the form of the errors that the middlewares write.
	Family Family
	// NoStore sends "Cache-Control: no-store" with every answer, errors included.
	NoStore bool
	// Quiet routes are called by machines at a high rate: their access records
	// are written at debug level.
	Quiet bool
}

// DefaultTimeout bounds the work on a request of a route that sets no bound.
const DefaultTimeout = 20 * time.Second
