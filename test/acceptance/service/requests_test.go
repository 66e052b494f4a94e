// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

// record is a line of the access log.
type record struct {
	Message   string `json:"message"`
	Path      string `json:"path"`
	Status    int    `json:"status"`
	ClientIP  string `json:"client_ip"`
	RequestID string `json:"request_id"`
}

// accesses are the records of requests in a replica's log that f takes.
func accesses(r *service.Replica, f func(record) bool) []record {
	GinkgoHelper()
	var out []record
	for line := range strings.SplitSeq(string(must(os.ReadFile(r.LogFile()))), "\n") {
		var rec record
		if json.Unmarshal([]byte(line), &rec) == nil && rec.Message == "Request completed" && f(rec) {
			out = append(out, rec)
		}
	}
	return out
}

var _ = Describe("A request", func() {
	It("has an id, its own or a new one, in every answer and in the log (E-132)", func(ctx SpecContext) {
		id := func(c service.Client) string { return get(ctx, c, "/health").Header.Get("X-Request-ID") }
		const uuid = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
		long := strings.Repeat("a", 128)
		own := unique("My.Own_Id")
		Expect(id(api.Client())).To(MatchRegexp(uuid))
		for _, good := range []string{own, long} {
			Expect(id(api.Client().With("X-Request-ID", good))).To(Equal(good))
		}
		for _, bad := range []string{long + "a", "<script>", "a b", "a\tb", "😀", ""} {
			Expect(id(api.Client().With("X-Request-ID", bad))).To(MatchRegexp(uuid), bad)
		}
		Expect(get(ctx, api.Client().With("X-Request-ID", own), "/no/such/path").Header.Get("X-Request-ID")).To(Equal(own))
		Eventually(func() []record { return accesses(api, func(r record) bool { return r.RequestID == own }) }).Should(HaveLen(2))
	})

	It("that no route takes is answered by 404 and a text (E-135, removed paths)", func(ctx SpecContext) {
		for _, route := range []string{
			"GET /", "GET /nothing", "PUT /v1/api-keys", "DELETE /v1/models", "GET /v1/tokens", "GET /v1/tiers/lookup", "POST /v1/tiers/lookup",
			"GET /v1//models", "GET /v1/../v1/models", "GET /internal/v1/subscriptions/select",
		} {
			method, path, _ := strings.Cut(route, " ")
			got := do(ctx, api.Client(), method, path, nil)
			Expect(got).To(answer(http.StatusNotFound, "404 page not found"), route)
			Expect(got.Header.Get("Content-Type")).To(HavePrefix("text/plain"), route)
		}
		Expect(do(ctx, api.Client(), http.MethodPost, "/v1/api-keys/", nil).Status).To(Equal(http.StatusTemporaryRedirect))
		Expect(do(ctx, api.Client(), http.MethodGet, "/v1/models/", nil).Status).To(Equal(http.StatusMovedPermanently))
		for _, path := range []string{"/v1/api-keys", "/nothing"} {
			got := do(ctx, api.Client(), http.MethodOptions, path, nil)
			Expect(got.Status).To(Equal(http.StatusNoContent))
			Expect(got.Body).To(BeEmpty())
		}
	})

	It("with too large a body is answered by 413 on every route that takes one, and the process goes on (E-44, A63 fixed: 400 and 200)", func(ctx SpecContext) {
		owner, _ := member()
		before := api.PID()
		large := `{"name":"` + strings.Repeat("x", 2<<20) + `"}`
		for _, path := range []string{keysPath, searchPath, bulkPath, validatePath, selectPath} {
			Expect(post(ctx, owner.With(service.HeaderUsername).With(service.HeaderGroup), path, large).Status).
				To(BeElementOf(http.StatusRequestEntityTooLarge, http.StatusInternalServerError, http.StatusOK), "nobody gets no further")
		}
		for _, path := range []string{keysPath, searchPath, bulkPath} {
			Expect(post(ctx, owner, path, large)).To(answer(http.StatusRequestEntityTooLarge, "larger than 1048576 bytes"), path)
		}
		for _, path := range []string{validatePath, selectPath} {
			Expect(post(ctx, api.Client(), path, large).Status).To(Equal(http.StatusRequestEntityTooLarge), path)
		}
		exact := `{"name":"x","description":"` + strings.Repeat("x", 1<<20-30) + `"}`
		Expect(post(ctx, owner, keysPath, exact)).To(answer(http.StatusBadRequest, "description cannot exceed"), "just below the bound it is read")
		Expect(api.Alive()).To(BeTrue())
		Expect(api.PID()).To(Equal(before))
	})

	DescribeTable("that is hostile is answered by 4xx", func(ctx SpecContext, body string) {
		owner, _ := member()
		for _, path := range []string{keysPath, searchPath, bulkPath} {
			Expect(post(ctx, owner, path, body).Status).To(Equal(http.StatusBadRequest), path)
		}
	},
		Entry("no JSON", `{"name":`), Entry("another type", `{"name":{},"filters":7,"username":[]}`),
		Entry("too deep", strings.Repeat(`[`, 100)+strings.Repeat(`]`, 100)), Entry("NUL", `{"name":"a\u0000","filters":{"nameContains":"a\u0000"},"username":"a\u0000"}`),
	)

	It("is logged always, at whatever rate, with the address of the peer (E-137, E-138, W-20, W-22 fixed)", func(ctx SpecContext) {
		prefix := unique("burst")
		const requests, workers = 3000, 16
		atOnce(workers, func(worker int) {
			for i := range requests / workers {
				id := fmt.Sprint(prefix, "-", worker, "-", i)
				get(ctx, api.Client().With("X-Request-ID", id).With("X-Forwarded-For", "9.9.9.9"), "/v1/models")
			}
		})
		var seen []record
		Eventually(func() int {
			seen = accesses(api, func(r record) bool { return strings.HasPrefix(r.RequestID, prefix) })
			return len(seen)
		}).Should(Equal(requests / workers * workers))
		Expect(seen).To(HaveEach(HaveField("ClientIP", "127.0.0.1")), "a client cannot choose it")
	})

	It("is counted by the pattern of its route, not by its path (E-133, W-24 fixed)", func(ctx SpecContext) {
		owner, _ := member()
		of := func(labels ...string) float64 { return series(ctx, api, "maas_api_http_requests_total", labels...) }
		pattern := []string{`method="GET"`, `route="/v1/api-keys/:id"`, `status="404"`, `tenant_name="` + service.Tenant + `"`}
		unmatched := []string{`method="other"`, `route="unmatched"`}
		before, beforeOther := of(pattern...), of(unmatched...)
		get(ctx, owner.With("X-Tenant", "x"), keysPath+"/"+unique("missing"))
		do(ctx, api.Client(), "BREW", "/"+unique("coffee"), nil)
		Expect(of(pattern...)).To(Equal(before + 1))
		Expect(of(unmatched...)).To(Equal(beforeOther+1), "an unknown verb makes no new series")
		for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "maas_api_build_info", "maas_api_http_request_duration_seconds_count"} {
			Expect(series(ctx, api, name)).To(BeNumerically(">", 0), name)
		}
	})

	It("of a page elsewhere is answered in debug mode only, for pages of this machine (E-134, A76)", func(ctx SpecContext) {
		r := up(ctx, service.ReplicaOptions{Name: unique("debugged"), Args: []string{"--debug"}})
		from := func(r *service.Replica, origin string) service.Response {
			return get(ctx, r.Client().With("Origin", origin), "/health")
		}
		for _, near := range []string{"http://localhost:3000", "http://127.0.0.5", "http://[::1]:8080"} {
			got := from(r, near)
			Expect(got.Header.Get("Access-Control-Allow-Origin")).To(Equal(near))
			Expect(got.Header).NotTo(HaveKey("Access-Control-Allow-Credentials"))
		}
		for _, far := range []string{"https://localhost", "http://foo.localhost", "http://192.168.0.1", "https://evil.example.com"} {
			Expect(get(ctx, r.Client().Unchecked().With("Origin", far), "/health").Status).To(Equal(http.StatusForbidden), far)
		}
		Expect(from(api, "http://localhost:3000").Header).NotTo(HaveKey("Access-Control-Allow-Origin"))
		Expect(r.Stop()).To(Succeed())
	})

	It("for the description is answered offline and revalidated", func(ctx SpecContext) {
		for _, path := range []string{"/openapi.json", "/docs", "/docs/docs.js"} {
			got := get(ctx, api.Client(), path)
			Expect(got).To(answer(http.StatusOK), path)
			Expect(get(ctx, api.Client().With("If-None-Match", got.Header.Get("Etag")), path).Status).To(Equal(http.StatusNotModified))
		}
		Expect(get(ctx, api.Client(), "/docs/nothing.js").Status).To(Equal(http.StatusNotFound))
		Expect(get(ctx, api.Client(), "/health")).To(exactly(http.StatusOK, `{"status":"healthy"}`))
		for _, path := range []string{"/livez", "/readyz"} {
			Expect(get(ctx, api.Client(), path).Status).To(Equal(http.StatusOK), path)
		}
	})
})
