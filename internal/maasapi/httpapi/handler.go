// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options is what [New] builds the handler of one listener from.
type Options struct {
	// Routes are all routes of the service.
	Routes []Route
	// Audiences are those that the listener serves. Routes of others do not exist
	// for it.
	Audiences []Audience
	// Log takes access records; it already carries the tenant.
	Log     *slog.Logger
	Clock   clock.PassiveClock
	Metrics *Metrics
	// Tracing is nil when it is off.
	Tracing *Tracing
	// NewID makes an id for requests that come without one.
	NewID func() string
	// TrustedProxies are believed in X-Forwarded-For; for the access log only.
	TrustedProxies []netip.Prefix
	// AllowGatewayMarked serves internal routes to every request.
	AllowGatewayMarked bool
	// CrossOrigin answers pages of this machine in debug mode.
	CrossOrigin bool
	// Otherwise answers requests that no route takes, and nobody may store what it
	// says; nil answers 404.
	Otherwise http.Handler
}

// Handler serves the routes of one listener. It wraps all of them in the same
// order: recovery, bound of the body, request id, access log, span, metrics,
// cross-origin rules. It is one object instead of a chain because two of the
// routes are called for every request of a model.
type Handler struct {
	router      *router
	log         *slog.Logger
	clock       clock.PassiveClock
	metrics     *Metrics
	tracing     *Tracing
	newID       func() string
	trusted     []netip.Prefix
	allowMarked bool
	crossOrigin bool
	unmatched   map[string]*endpoint // By bounded verb.
	largeBodies chan struct{}        // One element for each that is being read.
	drained     sync.Pool            // Of *[drainChunk]byte.
}

// endpoint is a route with what was made ready for it.
type endpoint struct {
	route   Route
	name    string // The label of metrics and spans.
	series  *series
	maxBody int64
	timeout time.Duration // 0: none.
}

func (e *endpoint) quiet() bool {
	return e.route.Quiet
}

// New returns the handler of one listener. It fails when two routes are the same.
func New(o Options) (*Handler, error) {
	h := &Handler{
		router: newRouter(), log: o.Log, clock: o.Clock, metrics: o.Metrics, tracing: o.Tracing, newID: o.NewID,
		trusted: o.TrustedProxies, allowMarked: o.AllowGatewayMarked, crossOrigin: o.CrossOrigin,
		unmatched: map[string]*endpoint{}, largeBodies: make(chan struct{}, largeBodies),
	}
	var problems []error
	for _, route := range o.Routes {
		if slices.Contains(o.Audiences, route.Audience) {
			problems = append(problems, h.router.add(h.endpoint(route)))
		}
	}
	for _, method := range verbs() {
		h.unmatched[method] = &endpoint{
			route: Route{Handler: o.Otherwise, NoStore: o.Otherwise != nil}, name: Unmatched,
			series: o.Metrics.series(method, Unmatched), maxBody: DefaultMaxBody,
		}
	}
	return h, errors.Join(problems...)
}

func (h *Handler) endpoint(route Route) *endpoint {
	e := &endpoint{route: route, name: label(route.Pattern), maxBody: route.MaxBody, timeout: route.Timeout}
	e.series = h.metrics.series(verb(route.Method), e.name)
	if e.maxBody == 0 {
		e.maxBody = DefaultMaxBody
	}
	if e.timeout == 0 && !route.Quiet {
		e.timeout = DefaultTimeout
	}
	return e
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.clock.Now()
	x := &exchange{Context: r.Context(), ResponseWriter: w, id: requestID(r, h.newID), status: http.StatusOK}
	w.Header()[HeaderRequestID] = []string{x.id}
	e, slash := h.find(r)
	x.noStore = e.route.NoStore
	if h.tracing != nil {
		ctx, span := h.tracing.begin(x.Context, r, e)
		x.Context = ctx
		defer func() { endSpan(span, x.status) }()
	}
	e.series.inFlight.Inc()
	defer func() {
		failure := recover()
		abort := failure != nil && h.recovered(x, e, failure)
		took := h.clock.Since(start)
		e.series.inFlight.Dec()
		e.series.observe(x.status, took)
		h.logAccess(x, r, e, took)
		if abort {
			panic(http.ErrAbortHandler) //nolint:forbidigo // The only way to cut an answer short.
		}
	}()
	h.serve(x, r, e, slash) //nolint:contextcheck // The exchange holds the request's context.
	h.drain(r)
}

// find returns the endpoint of a request, or that of unmatched ones. An internal
// route does not exist for a request that came through a gateway.
func (h *Handler) find(r *http.Request) (e, slash *endpoint) {
	e, slash = h.router.find(r)
	for _, found := range []*endpoint{e, slash} {
		if found != nil && found.route.Audience == Internal && !h.allowMarked && gatewayMarked(r.Header) {
			h.metrics.refused.Inc()
			e, slash = nil, nil
		}
	}
	if e == nil {
		e = h.unmatched[verb(r.Method)]
	}
	return e, slash
}

// serve answers what the middlewares answer, or lets the route's handler do it.
func (h *Handler) serve(x *exchange, r *http.Request, e, slash *endpoint) {
	if h.crossOrigin && !crossOrigin(x, r) {
		return
	}
	switch {
	case r.Method == http.MethodOptions:
		x.WriteHeader(http.StatusNoContent)
	case slash != nil:
		redirect(x, r)
	case e.route.Handler == nil:
		notFound(x)
	case r.ContentLength > e.maxBody:
		tooLarge(x, r, e)
	default:
		h.handle(x, r, e)
	}
}

func (h *Handler) handle(x *exchange, r *http.Request, e *endpoint) {
	if e.timeout > 0 {
		ctx, cancel := context.WithTimeout(x.Context, e.timeout)
		defer cancel()
		x.Context = ctx
	}
	inner := r.WithContext(x)
	if r.ContentLength < 0 {
		// The server itself ends a body of a declared length there.
		inner.Body = http.MaxBytesReader(x.ResponseWriter, r.Body, e.maxBody)
	}
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		body := &turnBody{ReadCloser: inner.Body, ctx: x, turns: h.largeBodies}
		defer body.release()
		inner.Body = body
	}
	e.route.Handler.ServeHTTP(x, inner)
}

// tooLarge refuses a body by its announced length. The server is then made to
// notice that the body went over a bound, because it otherwise closes the
// connection at once, and the client loses the answer while it still sends.
func tooLarge(x *exchange, r *http.Request, e *endpoint) {
	if r.ProtoMajor != 1 || r.Header.Get("Expect") != "" {
		WriteTooLarge(x, e.route.Family, e.maxBody)
		return
	}
	x.Header().Set("Connection", "close")
	WriteTooLarge(x, e.route.Family, e.maxBody)
	if http.NewResponseController(x).Flush() == nil {
		_, _ = http.MaxBytesReader(x.ResponseWriter, r.Body, 0).Read(make([]byte, 1)) // The error is the point.
	}
}

// notFound is the answer for unknown paths and for wrong verbs alike.
func notFound(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found")) // The client is gone; there is nobody to tell.
}

// redirect sends the client to the path without its trailing slash. The location
// is relative, so that it holds behind a gateway that rewrote the path's prefix.
func redirect(w http.ResponseWriter, r *http.Request) {
	trimmed := strings.TrimSuffix(r.URL.EscapedPath(), "/")
	location := "../" + trimmed[strings.LastIndexByte(trimmed, '/')+1:]
	if r.URL.RawQuery != "" {
		location += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", location)
	status := http.StatusTemporaryRedirect
	if r.Method == http.MethodGet {
		status = http.StatusMovedPermanently
	}
	w.WriteHeader(status)
}
