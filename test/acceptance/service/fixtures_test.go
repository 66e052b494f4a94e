// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// must returns a value that was to be had without an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// unique is a name that no other spec uses.
func unique(prefix string) string {
	const enough = 8
	return prefix + "-" + strings.ToLower(rand.Text()[:enough])
}

// up starts a replica that ends with the suite.
func up(ctx SpecContext, o service.ReplicaOptions) *service.Replica {
	GinkgoHelper()
	return must(on.Up(ctx, o))
}

// publish creates objects with the status they bring, and removes them when the
// spec, or what it is part of, is over.
func publish(ctx SpecContext, objects ...client.Object) {
	GinkgoHelper()
	Expect(on.Publish(ctx, objects...)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, o := range objects {
			if len(o.GetFinalizers()) > 0 {
				o.SetFinalizers(nil)
				Expect(on.Admin.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).
					To(Or(Succeed(), MatchError(ContainSubstring("not found"))))
			}
			Expect(client.IgnoreNotFound(on.Admin.Delete(ctx, o))).To(Succeed())
		}
	})
}

// settled publishes objects and waits until the replicas of the tenant know them.
func settled(ctx SpecContext, objects ...client.Object) {
	GinkgoHelper()
	publish(ctx, objects...)
	settle(ctx)
}

// settle waits until the replicas of the tenant know what was done to objects.
func settle(ctx SpecContext) {
	GinkgoHelper()
	Expect(on.Settle(ctx, api, peer)).To(Succeed())
}

// member is a client of a user that no other spec knows, who owns the common
// subscription.
func member() (service.Client, string) {
	user := unique("member")
	return api.Client().As(user, commonGroup), user
}

// admin is a client of a new administrator of the tenant.
func admin(ctx SpecContext) (service.Client, string) {
	GinkgoHelper()
	user := unique("admin")
	appoint(ctx, user)
	return api.Client().As(user), user
}

// do sends a request and returns the answer, whatever it is.
func do(ctx SpecContext, c service.Client, method, path string, body any) service.Response {
	GinkgoHelper()
	return must(c.Do(ctx, method, path, body))
}

func post(ctx SpecContext, c service.Client, path string, body any) service.Response {
	GinkgoHelper()
	return do(ctx, c, http.MethodPost, path, body)
}

func get(ctx SpecContext, c service.Client, path string) service.Response {
	GinkgoHelper()
	return do(ctx, c, http.MethodGet, path, nil)
}

// answer matches a response of a status whose body is, or contains, the texts.
func answer(status int, texts ...string) types.GomegaMatcher {
	matchers := []types.GomegaMatcher{HaveField("Status", status)}
	for _, text := range texts {
		matchers = append(matchers, WithTransform(func(r service.Response) string { return string(r.Body) }, ContainSubstring(text)))
	}
	return And(matchers...)
}

// exactly matches a response by status and the whole body in JSON.
func exactly(status int, body string) types.GomegaMatcher {
	return And(HaveField("Status", status), WithTransform(func(r service.Response) string { return string(r.Body) }, MatchJSON(body)))
}

// key makes a key with the usual choices.
func newKey(ctx SpecContext, c service.Client) service.CreatedKey {
	GinkgoHelper()
	return must(c.Create(ctx, service.CreateKey{Name: unique("key")}))
}

// verdict is what a replica says of a key.
func verdict(ctx SpecContext, r *service.Replica, key string) service.Verdict {
	GinkgoHelper()
	return must(r.Client().Validate(ctx, key))
}

// reasonOf is why a replica refuses a key; empty if it does not.
func reasonOf(ctx SpecContext, r *service.Replica, key string) string {
	GinkgoHelper()
	return verdict(ctx, r, key).Reason
}

// names are those of keys, in their order.
func names(keys []service.Key) []string {
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, k.Name)
	}
	return out
}

// series adds up a replica's series of a metric that carry all the labels, written
// as label="value".
func series(ctx SpecContext, r *service.Replica, name string, labels ...string) float64 {
	GinkgoHelper()
	return must(scrape.Get(ctx, r.MetricsURL())).Sum(name, labels...)
}

// count runs a query that returns one number.
func count(ctx SpecContext, query string, args ...any) int {
	GinkgoHelper()
	var n int
	Expect(database.QueryRow(ctx, query, args...).Scan(&n)).To(Succeed(), query)
	return n
}

// execute runs a statement in the database.
func execute(ctx SpecContext, statement string, args ...any) {
	GinkgoHelper()
	_, err := database.Exec(ctx, statement, args...)
	Expect(err).NotTo(HaveOccurred(), statement)
}

// stored is a row as an earlier release would have written it.
type stored struct {
	// The id is a fresh UUID unless given, the name unique.
	id, name, user, hash, status, subscription, tenant string
	groups                                             []string
	// expires is an interval from now, such as "-1 day"; empty means never.
	expires   string
	ephemeral bool
}

// store writes a row behind the back of the replicas and returns its id.
func store(ctx SpecContext, s stored) string {
	GinkgoHelper()
	if s.groups == nil {
		s.groups = []string{}
	}
	s.id, s.name = cmp.Or(s.id, uuid.NewString()), cmp.Or(s.name, unique("stored"))
	s.tenant, s.status, s.subscription = cmp.Or(s.tenant, service.Tenant), cmp.Or(s.status, "active"), cmp.Or(s.subscription, commonName)
	if s.subscription == unbound {
		s.subscription = ""
	}
	execute(ctx, `INSERT INTO api_keys (id, username, name, description, key_hash, status, user_groups, created_at, expires_at, ephemeral, subscription, tenant)
		VALUES ($1, $2, $3, '', $4, $5, $6, now(), now() + NULLIF($7, '')::interval, $8, $9, $10)`,
		s.id, s.user, s.name, s.hash, s.status, s.groups, s.expires, s.ephemeral, s.subscription, s.tenant)
	return s.id
}

// unbound is the subscription of a row that is bound to none.
const unbound = "-"

// quoted is a text in JSON.
func quoted(text string) string { return fmt.Sprintf("%q", text) }
