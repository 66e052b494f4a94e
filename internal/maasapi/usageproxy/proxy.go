// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy/logql"
)

const (
	pathHealth = "/health"
	pathReady  = "/ready"
	// writeTimeout is how long a client may take to read an answer.
	writeTimeout = 30 * time.Second
	// maxBearer is the longest token of a client, in bytes.
	maxBearer = 32 << 10
)

// Longest is how long a request may take until its answer begins.
const Longest = reviewTimeout + 2*patience + upstreamTimeout

// reviewTimeout bounds the question whose a token is; the reviewer has its own bound.
const reviewTimeout = 10 * time.Second

// ErrUnauthenticated says that a token is nobody's.
var ErrUnauthenticated = errors.New("the token is not valid")

// Reviewer asks the API server for the name of the user whose a token is. It returns
// [ErrUnauthenticated] when it is nobody's.
type Reviewer func(ctx context.Context, token string) (string, error)

// Options configure a [Proxy].
type Options struct {
	Reviewer Reviewer
	// Upstream is the address of the log store, with the beginning of its paths.
	Upstream *url.URL
	// CAFile holds certificate authorities in PEM that its certificate may come from,
	// beside those of the system; empty for none.
	CAFile string
	// TokenFile holds the token that the log store is asked with.
	TokenFile string
	// Namespace is that of the records.
	Namespace string
	// Health and Ready answer /health and /ready.
	Health, Ready http.Handler
	Clock         clock.PassiveClock
	Log           *slog.Logger
}

// Proxy answers users of the cluster from a log store. It is an [http.Handler] and
// may be used by any number of goroutines.
type Proxy struct {
	options  Options
	upstream *upstream
	cache    *cache
	turns    *turns
	log      *slog.Logger
	unready  sync.Once
}

// New makes a proxy. It sends nothing yet.
func New(o Options) (*Proxy, error) {
	switch {
	case o.Reviewer == nil || o.Health == nil || o.Ready == nil || o.Clock == nil || o.Log == nil:
		return nil, errors.New("options of the usage proxy lack Reviewer, Health, Ready, Clock or Log")
	case o.Namespace == "":
		return nil, errors.New("options of the usage proxy lack the namespace of the records")
	case o.TokenFile == "":
		return nil, errors.New("options of the usage proxy lack the file of its token")
	case o.Upstream == nil || o.Upstream.Scheme != "https" || o.Upstream.Host == "" || o.Upstream.User != nil || o.Upstream.RawQuery != "" || o.Upstream.Fragment != "":
		return nil, errors.New("the address of the log store is not like https://usage-gateway-http.monitoring.svc:8080/api/logs/v1/application")
	}
	return &Proxy{
		options: o, cache: newCache(o.Clock), turns: newTurns(), log: o.Log,
		upstream: &upstream{base: o.Upstream, caFile: o.CAFile, tokenFile: o.TokenFile, clock: o.Clock},
	}, nil
}

// Ready tells whether the log store could be asked. Why it could not, it says in the log
// the first time: whoever waits for the process to become ready has to hear what is missing.
func (p *Proxy) Ready(ctx context.Context) error {
	err := p.upstream.ready()
	if err != nil {
		p.unready.Do(func() { p.log.WarnContext(ctx, "The log store cannot be asked yet", slog.Any("error", err)) })
	}
	return err
}

// Close gives up what is held for later.
func (p *Proxy) Close() { p.upstream.close() }

// ServeHTTP answers one request. All but health needs a token.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		switch path {
		case pathHealth:
			p.options.Health.ServeHTTP(w, r)
			return
		case pathReady:
			p.options.Ready.ServeHTTP(w, r)
			return
		}
	}
	start := p.options.Clock.Now()
	status, name := p.answer(w, r, path)
	p.log.InfoContext(r.Context(), "Request completed", slog.String("endpoint", name), slog.Int("status", status),
		slog.Int64("latency_ms", p.options.Clock.Since(start).Milliseconds()))
}

// answer writes the answer and returns what the log says of it.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, path string) (status int, name string) {
	asked, label := find(path)
	content, turn, failed := p.serve(r, asked, label)
	if turn != nil {
		defer turn.end()
	}
	status = http.StatusOK
	header := w.Header()
	if failed != nil {
		status, content = failed.status, failed.content()
		switch status {
		case http.StatusUnauthorized:
			header.Set("WWW-Authenticate", `Bearer realm="maas-usage"`)
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			header.Set("Retry-After", "5")
		}
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(content.size))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	// Not every writer has deadlines; the listener has one for all.
	_ = http.NewResponseController(w).SetWriteDeadline(p.options.Clock.Now().Add(writeTimeout))
	w.WriteHeader(status)
	_, _ = content.WriteTo(w) // The client is gone; there is nobody to tell.
	return status, asked.String()
}

// String is the name of an endpoint for the log.
func (e endpoint) String() string {
	switch e {
	case endpointQuery:
		return "query"
	case endpointQueryRange:
		return "query_range"
	case endpointLabels:
		return "labels"
	case endpointValues:
		return "label_values"
	default:
		return "none"
	}
}

// serve finds the answer of a request. The turn is to be ended when it is written.
func (p *Proxy) serve(r *http.Request, asked endpoint, label string) (body, *turn, *failure) {
	user, failed := p.identify(r)
	if failed != nil {
		return body{}, nil, failed
	}
	if asked == endpointNone || r.Method != http.MethodGet {
		return body{}, nil, refuse(http.StatusForbidden, "forbidden", "Only GET on query, query_range, labels and label/<name>/values below /loki/api/v1 is allowed")
	}
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return body{}, nil, refuse(http.StatusBadRequest, "bad_data", "A request with a body is not understood: put everything into the URL")
	}
	parameters, err := asked.parse(r.URL.RawQuery)
	if err != nil {
		return body{}, nil, refuse(http.StatusBadRequest, "bad_data", err.Error())
	}
	q, err := asked.ask(parameters, label, logql.Restriction{Namespace: p.options.Namespace, User: user}, p.options.Clock.Now())
	if err != nil {
		return body{}, nil, refuse(http.StatusBadRequest, "bad_data", err.Error())
	}
	if q.known != nil {
		return bodyOf(q.known), nil, nil
	}
	key := keyOf(user, r.URL.EscapedPath(), parameters.Encode())
	return p.get(r.Context(), user, key, q)
}

// get answers from memory or asks the log store.
func (p *Proxy) get(ctx context.Context, user string, key cacheKey, q question) (body, *turn, *failure) {
	turn, err := p.turns.enter(ctx, user)
	if errors.Is(err, errTooMany) {
		return body{}, nil, refuse(http.StatusTooManyRequests, "too_many_requests", "Too many requests at once: wait for the answers of the others")
	}
	if err != nil {
		return body{}, nil, busy()
	}
	content, known := p.cache.get(key)
	size := maxBody
	if known {
		size = content.size
	}
	if err := turn.reserve(ctx, size); err != nil {
		return body{}, turn, busy()
	}
	if known {
		return content, turn, nil
	}
	content, failed := p.fetch(ctx, q)
	turn.keep(content.size)
	if failed == nil {
		p.cache.add(key, content)
	}
	return content, turn, failed
}

func busy() *failure {
	return refuse(http.StatusServiceUnavailable, "unavailable", "The service is busy; try again in a moment")
}

// identify asks the API server whose the token of a request is.
func (p *Proxy) identify(r *http.Request) (string, *failure) {
	token, ok := bearer(r.Header)
	if !ok {
		return "", refuse(http.StatusUnauthorized, "unauthorized", "A bearer token is needed")
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	user, err := p.options.Reviewer(ctx, token)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return "", refuse(http.StatusUnauthorized, "unauthorized", "The token is not valid")
	case err != nil:
		p.log.WarnContext(ctx, "Cannot ask the API server whose a token is", slog.Any("error", err))
		return "", refuse(http.StatusServiceUnavailable, "unavailable", "The token cannot be checked; try again in a moment")
	case user == "":
		return "", refuse(http.StatusUnauthorized, "unauthorized", "The token is not valid")
	}
	return user, nil
}

// bearer returns the one token of a request.
func bearer(header http.Header) (string, bool) {
	given := header.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxBearer || strings.ContainsAny(token, " \t") {
		return "", false
	}
	return token, true
}
