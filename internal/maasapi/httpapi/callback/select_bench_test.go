// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// selectCrowd has that many subscriptions of five models with two limits, a fifth as
// many models, and as many auth policies.
func selectCrowd(count int) source {
	var f entitlement.Facts
	models := max(5, count/5)
	for i := range models {
		m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: fmt.Sprintf("model-%04d", i)}}
		m.Status.ResolvedModelAlias = "publishers/llm/models/" + m.Name
		f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: m, Tenant: selectTenant})
	}
	for i := range count {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: selectTenant, Name: fmt.Sprintf("sub-%04d", i)}}
		p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: selectTenant, Name: s.Name}}
		s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: fmt.Sprintf("team-%04d", i)}}
		p.Spec.Subjects.Groups = s.Spec.Owner.Groups
		s.Status.Phase, s.Status.RateLimitIdentity = v1alpha1.PhaseActive, v1alpha1.RateLimitIdentityShort
		for j := range 5 {
			name := fmt.Sprintf("model-%04d", (i+j)%models)
			s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{
				Namespace: "llm", Name: name, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 100, Window: "1m"}, {Limit: 5000, Window: "24h"}},
			})
			p.Spec.ModelRefs = append(p.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: "llm", Name: name})
		}
		f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: s, Tenant: selectTenant})
		f.AuthPolicies = append(f.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: p, Tenant: selectTenant})
	}
	return source{subscription.NewSnapshot(selectTenant, f, time.Unix(0, 0))}
}

// selectBody is what the gateway sends for a caller in ten groups, one of which owns
// the subscription in the middle.
func selectBody(count int) string {
	groups := []string{entitlement.AuthenticatedGroup}
	for i := range 8 {
		groups = append(groups, fmt.Sprintf("department-%d", i))
	}
	groups = append(groups, fmt.Sprintf("team-%04d", count/2))
	return `{"groups":["` + strings.Join(groups, `","`) + `"],"username":"alice@example.com",` +
		fmt.Sprintf(`"requestedSubscription":"sub-%04d","requestedModel":"llm/model-%04d"}`, count/2, (count/2)%max(5, count/5))
}

// blackHole is a connection that costs nothing.
type blackHole struct {
	header http.Header
	size   int
}

func (b *blackHole) Header() http.Header { return b.header }
func (b *blackHole) WriteHeader(int)     {}
func (b *blackHole) Write(p []byte) (int, error) {
	b.size += len(p)
	return len(p), nil
}

func BenchmarkSelect(b *testing.B) {
	for _, count := range []int{20, 100, 500, 1000} {
		handler, _ := newSelect(b, selectCrowd(count))
		b.Run(fmt.Sprint(count), func(b *testing.B) { benchmarkSelect(b, handler, selectBody(count)) })
	}
	handler, _ := newSelect(b, selectCrowd(20))
	b.Run("floor", func(b *testing.B) { benchmarkSelect(b, handler, `-`) })
}

func benchmarkSelect(b *testing.B, handler *Select, body string) {
	b.Helper()
	if _, reply := ask(b, handler, strings.NewReader(body)); body != "-" && reply["accessAllowed"] != true {
		b.Fatal(reply)
	}
	text := strings.NewReader(body)
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, SelectPath, io.NopCloser(text))
	w := &blackHole{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		text.Reset(body)
		handler.serve(w, request)
	}
	b.ReportMetric(float64(w.size)/float64(b.N), "reply-bytes")
}

// TestSelectAllocatesLittle holds whatever the number of subscriptions.
func TestSelectAllocatesLittle(t *testing.T) {
	for _, count := range []int{20, 1000} {
		handler, _ := newSelect(t, selectCrowd(count))
		body := selectBody(count)
		text := strings.NewReader(body)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, SelectPath, io.NopCloser(text))
		w := &blackHole{header: http.Header{}}
		got := testing.AllocsPerRun(200, func() {
			text.Reset(body)
			handler.serve(w, request)
		})
		if got > 10 {
			t.Errorf("%d subscriptions: %.0f allocations for a request, want at most 10", count, got)
		}
	}
}
