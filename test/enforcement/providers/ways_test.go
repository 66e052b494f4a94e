// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// quiet is for how long it is looked that nothing changes.
const quiet = 3 * time.Second

var _ = Describe("The way to a provider", Serial, func() {
	for what, present := range map[string]func() error{
		"a certificate of another host":        func() error { return on.Provider.Present("api.impostor.test") },
		"a certificate that nobody has signed": func() error { return on.Provider.PresentStranger() },
	} {
		It("ends before anything is said at who has "+what, func(ctx SpecContext) {
			Expect(present()).To(Succeed())
			DeferCleanup(func() error { return on.Provider.Present(world.ProviderHost) })
			for _, way := range at.gpt.ways() {
				turnedAway(send(ctx, way.ask(world.Bearer(at.credentials["an API key"])...)), http.StatusServiceUnavailable)
			}
		}, SpecTimeout(specTimeout))
	}

	It("is that of the default tenant alone", func(ctx SpecContext) {
		for _, way := range at.gpt.ways() {
			request := way.ask(world.Bearer(at.credentials["a token of another tenant"])...)
			request.Tenant = on.Red
			answer := send(ctx, request)
			Expect(answer.Reached).To(BeNil(), answer.String)
			Expect(answer.Status).To(BeNumerically(">=", http.StatusBadRequest))
		}
	}, SpecTimeout(specTimeout))

	It("is left as it is by all who could write it, whatever the number of tenants (A53)", func(ctx SpecContext) {
		route := func() (*gwapiv1.HTTPRoute, error) {
			o := &gwapiv1.HTTPRoute{}
			return o, on.Admin.Get(ctx, client.ObjectKey{Namespace: at.gpt.key.Namespace, Name: external.Name(at.gpt.key.Name)}, o)
		}
		before, err := route()
		Expect(err).NotTo(HaveOccurred())
		Consistently(func() (int64, error) {
			now, err := route()
			return now.Generation, err
		}).WithContext(ctx).WithTimeout(quiet).Should(Equal(before.Generation))
	}, SpecTimeout(specTimeout))

	It("is open to nobody from the moment it is there", func(ctx SpecContext) {
		late := named("late")
		hammer := startHammer(ctx, late)
		err := open(ctx, late)
		seen, passed, failed := hammer.stop()
		Expect(errors.Join(err, failed)).To(Succeed())
		AddReportEntry("requests", ReportEntryVisibilityAlways, seen)
		Expect(seen).NotTo(BeEmpty())
		Expect(passed).To(BeEmpty())
		for how, way := range late.ways() {
			turnedAway(send(ctx, way.ask()), http.StatusUnauthorized)
			answer := send(ctx, way.ask(world.Bearer(at.credentials["a guest's token"])...))
			Expect(answer.Status).To(Equal(http.StatusOK), how+": "+answer.String())
		}
	}, SpecTimeout(specTimeout))
})

// open makes a model of the provider for guests, and returns when they are served.
func open(ctx context.Context, m model) error {
	if err := on.Create(ctx, m.secret(openaiKey), m.external("openai")); err != nil {
		return err
	}
	// It is there, and nobody is named yet.
	if err := world.Eventually(ctx, "the route to the provider", func(ctx context.Context) error {
		return on.Admin.Get(ctx, client.ObjectKey{Namespace: m.key.Namespace, Name: external.Name(m.key.Name)}, &gwapiv1.HTTPRoute{})
	}); err != nil {
		return err
	}
	namespace := at.tenant.Namespace
	if err := on.Create(
		ctx, m.publication(), builder.AuthPolicy(namespace, m.key.Name, m.key).Subjects([]string{guests}, nil).Obj(),
		builder.Subscription(namespace, m.key.Name).Owners([]string{guests}, nil).Limit(m.key, 1_000_000, "1m").Obj(),
	); err != nil {
		return err
	}
	if err := m.await(ctx); err != nil {
		return err
	}
	for _, way := range m.ways() {
		if err := on.AwaitServed(ctx, way.ask(world.Bearer(at.credentials["a guest's token"])...)); err != nil {
			return err
		}
	}
	return nil
}

// hammer sends requests of nobody without a break.
type hammer struct {
	work *errgroup.Group
	done chan struct{}

	mu     sync.Mutex
	seen   map[int]int // The number of answers by their status.
	passed []string
}

func startHammer(ctx context.Context, m model) *hammer {
	h := &hammer{work: &errgroup.Group{}, done: make(chan struct{}), seen: map[int]int{}}
	for _, way := range m.ways() {
		h.work.Go(func() error {
			for {
				select {
				case <-h.done:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				default:
				}
				answer, err := on.Do(ctx, way.ask())
				if err != nil {
					return err
				}
				h.count(answer)
			}
		})
	}
	return h
}

func (h *hammer) count(answer world.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[answer.Status]++
	if answer.Reached != nil {
		h.passed = append(h.passed, fmt.Sprintf("%s: %s", time.Now().Format(time.TimeOnly), answer))
	}
}

func (h *hammer) stop() (seen map[int]int, passed []string, err error) {
	close(h.done)
	err = h.work.Wait()
	return h.seen, h.passed, err
}
