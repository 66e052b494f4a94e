// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
)

// A route takes requests from the moment a gateway knows it. Until Kuadrant has told the
// gateway who may pass, whoever sends the headers that are set for admitted callers
// would be taken for anybody.
var _ = Describe("While the route to maas-api is made anew", Serial, func() {
	const atOnce = 2
	var route *gwapiv1.HTTPRoute
	BeforeEach(func() {
		route = &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: installation.Namespace, Name: "maas-api-route"}}
	})
	remove := func(ctx context.Context) error { return on.Admin.Delete(ctx, route.DeepCopy()) }
	for _, c := range []struct {
		when string
		do   func(context.Context) error
	}{
		{"the operator runs", remove},
		{"the operator is away for longer than Kuadrant takes to notice", func(ctx context.Context) error {
			if err := on.Stage.Operator.Stop(); err != nil {
				return err
			}
			if err := remove(ctx); err != nil {
				return err
			}
			if err := on.AwaitAnswer(ctx, forged("/v1/api-keys"), func(a world.Answer) bool { return a.Status == http.StatusNotFound }); err != nil {
				return err
			}
			if err := awaitForgotten(ctx, route); err != nil {
				return err
			}
			return on.Stage.Operator.Start(ctx)
		}},
		{"the operator was just started", func(ctx context.Context) error {
			if err := on.Stage.Operator.Stop(); err != nil {
				return err
			}
			if err := remove(ctx); err != nil {
				return err
			}
			return on.Stage.Operator.Start(ctx)
		}},
	} {
		It("nobody gets to maas-api when "+c.when, func(ctx SpecContext) {
			Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
			before := route.UID
			hammer := startHammer(ctx, atOnce)
			err := c.do(ctx)
			if err == nil {
				err = awaitOpened(ctx, route, before)
			}
			Expect(hammer.stop()).To(Succeed())
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("requests", ReportEntryVisibilityAlways, hammer.seen)
			Expect(hammer.passed).To(BeEmpty())
			token, err := fixture.Default.Tenant.Token(ctx, fixture.Default.Tenant.Claims("olga", "staff"))
			Expect(err).NotTo(HaveOccurred())
			Expect(on.AwaitServed(ctx, world.Request{Tenant: fixture.Default.Tenant, Path: "/v1/models", Headers: world.Bearer(token)})).To(Succeed())
		}, SpecTimeout(specTimeout))
	}
})

// forged is a request of nobody with the headers of somebody.
func forged(path string) world.Request {
	r := world.Request{Tenant: fixture.Default.Tenant, Path: path, Headers: world.Headers("X-MaaS-Username", "root-admin", "X-MaaS-Group", `["system:authenticated","staff"]`)}
	if path == "/v1/api-keys" {
		r.Body = `{"name":"stolen"}`
	}
	return r
}

// stopped tells whether a request ended at the gateway: refused, or without a way on.
func stopped(a world.Answer) bool {
	if a.Decision != nil {
		switch a.Decision.Outcome {
		case world.Denied, world.Limited, world.Failed:
			return true
		}
	}
	return a.Status == http.StatusNotFound && strings.Contains(a.Body, "no HTTPRoute matches") ||
		a.Status == http.StatusInternalServerError && strings.Contains(a.Body, "has no backend")
}

// hammer sends such requests without a break.
type hammer struct {
	work *errgroup.Group
	done chan struct{}

	mu     sync.Mutex
	seen   map[int]int // The number of answers by their status.
	passed []string
}

func startHammer(ctx context.Context, atOnce int) *hammer {
	h := &hammer{work: &errgroup.Group{}, done: make(chan struct{}), seen: map[int]int{}}
	for _, path := range []string{"/v1/api-keys", "/v1/subscriptions"} {
		for range atOnce {
			h.work.Go(func() error {
				for {
					select {
					case <-h.done:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					default:
					}
					answer, err := on.Do(ctx, forged(path))
					if err != nil {
						return err
					}
					h.count(path, answer)
				}
			})
		}
	}
	return h
}

func (h *hammer) count(path string, answer world.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[answer.Status]++
	if !stopped(answer) {
		h.passed = append(h.passed, fmt.Sprintf("%s %s: %s", time.Now().Format(time.TimeOnly), path, answer))
	}
}

func (h *hammer) stop() error {
	close(h.done)
	return h.work.Wait()
}

// awaitOpened waits until there is another route than the one of a UID, and it leads
// somewhere again.
func awaitOpened(ctx context.Context, route *gwapiv1.HTTPRoute, before types.UID) error {
	return world.Eventually(ctx, "the route to maas-api", func(ctx context.Context) error {
		now := &gwapiv1.HTTPRoute{}
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(route), now); err != nil {
			return err
		}
		if now.UID == before || len(now.Spec.Rules) == 0 || len(now.Spec.Rules[0].BackendRefs) == 0 {
			return errors.New("it is the former one, or leads nowhere")
		}
		return nil
	})
}

// awaitForgotten waits until the gateway has no action for the route any more.
func awaitForgotten(ctx context.Context, route *gwapiv1.HTTPRoute) error {
	gateway := fixture.Default.Tenant.Gateway
	return world.Eventually(ctx, "Kuadrant to notice that the route is gone", func(ctx context.Context) error {
		filter := &unstructured.Unstructured{}
		filter.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"})
		if err := on.Admin.Get(ctx, client.ObjectKey{Namespace: gateway.Namespace, Name: "kuadrant-" + gateway.Name}, filter); err != nil {
			return err
		}
		if stored, err := filter.MarshalJSON(); err != nil || strings.Contains(string(stored), route.Namespace+"/maas-api-auth-policy") {
			return errors.Join(err, errors.New("the configuration of the Gateway still has its actions"))
		}
		return nil
	})
}
