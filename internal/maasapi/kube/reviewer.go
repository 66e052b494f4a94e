// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cacheutil "k8s.io/apimachinery/pkg/util/cache"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// How long the answers of the admin check count. A new admin waits for the shorter
// one, a former admin loses the rights after the longer one.
const (
	AdminFor    = 30 * time.Second
	NotAdminFor = 2 * time.Second
)

// DefaultAdminCacheSize is the number of callers whose answer is remembered.
const DefaultAdminCacheSize = 8192

// ErrUnauthenticated says that a token is nobody's.
var ErrUnauthenticated = errors.New("the token is not valid")

// ReviewerOptions configure a [Reviewer].
type ReviewerOptions struct {
	Clients *Clients
	// Namespace is the one of the subscriptions, in which admins are.
	Namespace string
	// CacheSize bounds the callers whose answer is remembered; the ones used longest
	// ago go first. Default: [DefaultAdminCacheSize].
	CacheSize int
	// Timeout bounds one call. Default: 5 s.
	Timeout    time.Duration
	Clock      clock.PassiveClock
	Registerer prometheus.Registerer
}

// Reviewer asks the API server who somebody is and what they may do. Any number of
// goroutines may use it.
type Reviewer struct {
	options      ReviewerOptions
	tokens       authenticationv1client.TokenReviewInterface
	access       authorizationv1client.SubjectAccessReviewInterface
	known        *cacheutil.LRUExpireCache
	asking       singleflight.Group
	hits, misses prometheus.Counter
}

// NewReviewer makes a reviewer and registers its metrics.
func NewReviewer(options ReviewerOptions) (*Reviewer, error) {
	o := options
	o.CacheSize = cmp.Or(o.CacheSize, DefaultAdminCacheSize)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	switch {
	case o.Clients == nil || o.Clock == nil || o.Registerer == nil:
		return nil, errors.New("options of the access reviews lack Clients, Clock or Registerer")
	case o.Namespace == "":
		return nil, errors.New("options of the access reviews lack the namespace of the subscriptions")
	case o.CacheSize < 0 || o.Timeout < 0:
		return nil, errors.New("the size of the admin cache and the timeout of access reviews must be positive")
	}
	r := &Reviewer{
		options: o, tokens: o.Clients.authentication.TokenReviews(), access: o.Clients.authorization.SubjectAccessReviews(),
		known:  cacheutil.NewLRUExpireCacheWithClock(o.CacheSize, o.Clock),
		hits:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sar_cache_hits_total", Help: "Admin checks answered from memory."}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{Name: "sar_cache_misses_total", Help: "Admin checks that asked the API server, or waited for one that did."}),
	}
	if err := countAll(o.Registerer, r.hits, r.misses); err != nil {
		return nil, err
	}
	return r, nil
}

// IsAdmin tells whether the caller may create auth policies in the namespace of the
// subscriptions. Answers are remembered, errors are not; of simultaneous questions
// about one caller only one is asked, and it outlives whoever asked first. The zero
// Caller is no admin.
func (r *Reviewer) IsAdmin(ctx context.Context, c entitlement.Caller) (bool, error) {
	if c.Username() == "" {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("check for admin rights: %w", err)
	}
	key := callerKey(c)
	if known, ok := r.known.Get(key); ok {
		if admin, ok := known.(bool); ok {
			r.hits.Inc()
			return admin, nil
		}
	}
	r.misses.Inc()
	answer := r.asking.DoChan(key, func() (any, error) { return r.askAdmin(context.WithoutCancel(ctx), key, c) })
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("check for admin rights: %w", ctx.Err())
	case result := <-answer:
		admin, ok := result.Val.(bool)
		return admin && ok, result.Err
	}
}

func (r *Reviewer) askAdmin(ctx context.Context, key string, c entitlement.Caller) (bool, error) {
	admin, err := r.may(ctx, User{Username: c.Username(), Groups: c.Groups()}, authorizationv1.ResourceAttributes{
		Namespace: r.options.Namespace, Verb: "create", Group: v1alpha1.GroupVersion.Group, Resource: authPolicies.Resource,
	})
	if err != nil {
		return false, fmt.Errorf("check for admin rights: %w", err)
	}
	remember := NotAdminFor
	if admin {
		remember = AdminFor
	}
	r.known.Add(key, admin, remember)
	return admin, nil
}

// callerKey identifies name and groups, whatever characters are in them. The order
// of the groups does not count.
func callerKey(c entitlement.Caller) string {
	hash := sha256.New()
	add := func(text string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		hash.Write(size[:])
		hash.Write([]byte(text))
	}
	add(c.Username())
	for _, group := range slices.Sorted(slices.Values(c.Groups())) {
		add(group)
	}
	return string(hash.Sum(nil))
}

// User is somebody as the API server knows them.
type User struct {
	Username, UID string
	Groups        []string
	Extra         map[string][]string
}

// ReviewToken finds out whose a bearer token is; [ErrUnauthenticated] when it is
// nobody's. An API key is nobody's and is not sent anywhere. The token must be meant
// for the API server itself.
func (r *Reviewer) ReviewToken(ctx context.Context, token string) (User, error) {
	if token == "" || strings.HasPrefix(token, apikey.Prefix) {
		return User{}, ErrUnauthenticated
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	review, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return User{}, fmt.Errorf("review a token: %w", err)
	}
	// Where requests without a credential have a user, the cluster says so of a token of
	// nothing but white space, too; that user is no member of its group of everybody it
	// knows.
	if !review.Status.Authenticated || review.Status.User.Username == "" || !slices.Contains(review.Status.User.Groups, entitlement.AuthenticatedGroup) {
		return User{}, ErrUnauthenticated
	}
	user := User{Username: review.Status.User.Username, UID: review.Status.User.UID, Groups: review.Status.User.Groups}
	user.Extra = make(map[string][]string, len(review.Status.User.Extra))
	for key, values := range review.Status.User.Extra {
		user.Extra[key] = values
	}
	return user, nil
}

// MayUseCluster tells whether somebody has the right that every user of the cluster
// has: to ask for their own rights.
func (r *Reviewer) MayUseCluster(ctx context.Context, user User) (bool, error) {
	return r.may(ctx, user, authorizationv1.ResourceAttributes{
		Verb: "create", Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews",
	})
}

func (r *Reviewer) may(ctx context.Context, user User, what authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	spec := authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &what, User: user.Username, UID: user.UID, Groups: user.Groups,
	}
	if len(user.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			spec.Extra[key] = values
		}
	}
	review, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review access: %w", err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}
