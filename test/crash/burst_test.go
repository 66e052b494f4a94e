// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// models is the number of models; the last two are one tenant's, too.
const models = 3

// corner is where one burst takes place. Two corners with the same plan end in
// the same policies but for the corner's name.
type corner struct {
	namespace string
	history   oracle.History
}

func newCorner(ctx context.Context) *corner {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, on.Admin, "llm")
	Expect(err).NotTo(HaveOccurred())
	return &corner{namespace: namespace, history: oracle.History{
		BornLegacy: map[string]bool{}, MaybeLegacy: map[string]bool{}, LegacyLimits: map[string]bool{},
	}}
}

func (c *corner) name(short string) string { return short + "-" + c.namespace }

func (c *corner) model(i int) types.NamespacedName {
	return builder.Key(c.namespace, c.name(fmt.Sprintf("m%d", i)))
}

func (c *corner) scope() oracle.Scope {
	return oracle.Scope{Namespaces: []string{c.namespace, stage.TenantNamespace}, Suffix: c.namespace}
}

// facts reads the corner.
func (c *corner) facts(ctx context.Context) *oracle.Facts {
	GinkgoHelper()
	facts, err := oracle.Read(ctx, on.Admin, c.scope())
	Expect(err).NotTo(HaveOccurred())
	return facts
}

// rateSets are what subscriptions grant.
func rateSets() [][]v1alpha1.TokenRateLimit {
	return [][]v1alpha1.TokenRateLimit{
		{{Limit: 100, Window: "1m"}},
		{{Limit: 100, Window: "1m"}, {Limit: 5000, Window: "1h"}},
		{{Limit: 20, Window: "30s"}},
		nil, // Unlimited.
	}
}

// entries are the models of a subscription with what it grants on each.
func (c *corner) entries(r *rand.Rand) []v1alpha1.ModelSubscription {
	var out []v1alpha1.ModelSubscription
	for _, i := range r.Perm(models)[:1+r.IntN(models)] {
		rates := rateSets()[r.IntN(len(rateSets()))]
		key := c.model(i)
		out = append(out, v1alpha1.ModelSubscription{Namespace: key.Namespace, Name: key.Name, TokenRateLimits: rates, Unlimited: rates == nil})
	}
	return out
}

// before creates models, auth policies and what an earlier release left behind.
// The operator must not have run yet.
func (c *corner) before(ctx context.Context) {
	GinkgoHelper()
	for i := range models {
		key := c.model(i)
		create(ctx,
			builder.Route(key.Namespace, key.Name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname).Obj(),
			builder.ModelServer(key.Namespace, key.Name), builder.ModelRef(key.Namespace, key.Name).Obj(),
			builder.AuthPolicy(stage.TenantNamespace, c.name(fmt.Sprintf("first%d", i)), key).Obj())
	}
	for i := range len(rateSets()) * 2 {
		s := builder.Subscription(stage.TenantNamespace, c.name(fmt.Sprintf("legacy%d", i))).Obj()
		for m := range models {
			rates, key := rateSets()[i%len(rateSets())], c.model(m)
			s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{Namespace: key.Namespace, Name: key.Name, TokenRateLimits: rates, Unlimited: rates == nil})
			c.history.LegacyLimits[key.String()+":"+oracle.LimitOf(&s.Spec.ModelRefs[m])] = true
		}
		create(ctx, s)
		s.Status.Phase = v1alpha1.PhaseActive
		Expect(on.Admin.Status().Update(ctx, s)).To(Succeed())
		c.history.BornLegacy[client.ObjectKeyFromObject(s).String()] = true
	}
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(ctx, o)).To(Succeed(), "create %T %s", o, client.ObjectKeyFromObject(o))
	}
}

// change is one change of a burst.
type change func(ctx context.Context) error

// changes is the burst: subscriptions come, some of them are edited or deleted
// afterwards, and so are auth policies. Equal seeds give equal bursts. Nothing
// that was deleted comes back under its name.
func (c *corner) changes(r *rand.Rand) [][]change {
	const edited, deleted, auth = 5, 7, 10 // One of so many.
	var all [][]change
	for i := range *size {
		s := builder.Subscription(stage.TenantNamespace, c.name(fmt.Sprintf("burst%04d", i))).Obj()
		s.Spec.ModelRefs = c.entries(r)
		steps := []change{func(ctx context.Context) error { return on.Admin.Create(ctx, s.DeepCopy()) }}
		if r.IntN(edited) == 0 {
			entries := c.entries(r)
			steps = append(steps, edit(s, func(o *v1alpha1.MaaSSubscription) { o.Spec.ModelRefs = entries }))
		}
		if r.IntN(deleted) == 0 {
			steps = append(steps, func(ctx context.Context) error { return on.Admin.Delete(ctx, s.DeepCopy()) })
		}
		all = append(all, steps)
		if i%auth == 0 {
			p := builder.AuthPolicy(stage.TenantNamespace, c.name(fmt.Sprintf("team%04d", i)), c.model(r.IntN(models))).
				Subjects([]string{fmt.Sprintf("team%d", i)}, nil).Obj()
			steps := []change{func(ctx context.Context) error { return on.Admin.Create(ctx, p.DeepCopy()) }}
			if r.IntN(2) == 0 {
				steps = append(steps, edit(p, func(o *v1alpha1.MaaSAuthPolicy) { o.Spec.Subjects.Users = []string{"alice"} }))
			}
			all = append(all, steps)
		}
	}
	// Those of an earlier release leave in the middle: their neighbours stay.
	for i := range len(rateSets()) * 2 {
		if i == 0 {
			continue // One of them stays.
		}
		s := builder.Subscription(stage.TenantNamespace, c.name(fmt.Sprintf("legacy%d", i))).Obj()
		all = slices.Insert(all, len(all)/2, []change{func(ctx context.Context) error { return on.Admin.Delete(ctx, s) }})
	}
	return all
}

func edit[T client.Object](object T, mutate func(T)) change {
	return func(ctx context.Context) error {
		copied, _ := object.DeepCopyObject().(T)
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), copied); err != nil {
				return err
			}
			mutate(copied)
			return on.Admin.Update(ctx, copied)
		})
	}
}

// burst makes the changes of a plan as fast as it can, those of one object in
// their order, and calls between with the number of objects done so far.
func (c *corner) burst(ctx context.Context, between func(done int)) {
	GinkgoHelper()
	const writers = 8
	all := c.changes(rand.New(rand.NewPCG(*seed, 1))) // The same every time.
	queue := make(chan []change)
	var done atomic.Int64
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			defer GinkgoRecover()
			for steps := range queue {
				for _, step := range steps {
					Expect(step(ctx)).To(Succeed())
				}
				done.Add(1)
			}
		})
	}
	for _, steps := range all {
		queue <- steps
		between(int(done.Load()))
	}
	close(queue)
	group.Wait()
}

// converges waits until the corner is what the oracle says.
func (c *corner) converges(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() string { return c.facts(ctx).Compare(c.history) }).Should(BeEmpty(), "(-want +got)")
}

// digest is what a cache key says of a corner's names.
var digest = regexp.MustCompile(`@[0-9a-f]{16}"`)

// policies describes the generated policies without the corner's name: each
// limit with its members, and everything else as it is. Whether short members keep
// a name of their own when the last legacy ones have left depends on whether a
// policy was written in between, so the end of such a name does not count.
func (c *corner) policies(ctx context.Context) map[string]string {
	GinkgoHelper()
	facts := c.facts(ctx)
	names := map[string]string{}
	for i := range facts.Subscriptions {
		for m := range models {
			key := client.ObjectKeyFromObject(&facts.Subscriptions[i]).String()
			names[oracle.IDOf(key, c.model(m).String())] = key
		}
	}
	out := map[string]string{}
	for i := range facts.Policies {
		p := &facts.Policies[i]
		text := fmt.Sprint(p.Object["spec"], p.GetLabels(), p.GetAnnotations())
		limits := oracle.MembersOf(p)
		for limit, members := range limits {
			if plain := strings.TrimSuffix(limit, "-id"); limits[plain] == nil {
				limit = plain
			}
			var known []string
			for _, m := range members {
				kind, id, _ := strings.Cut(m, " ")
				known = append(known, kind+" "+cmp.Or(names[id], id))
			}
			slices.Sort(known)
			out[p.GetName()+" "+limit] = strings.Join(known, ",")
		}
		if p.GetKind() == "AuthPolicy" {
			out[p.GetName()] = text
		}
	}
	for _, key := range slices.Collect(maps.Keys(out)) {
		text := out[key]
		delete(out, key)
		text = digest.ReplaceAllString(text, `@..."`)
		out[strings.ReplaceAll(key, c.namespace, "corner")] = strings.ReplaceAll(text, c.namespace, "corner")
	}
	return out
}
