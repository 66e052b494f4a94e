// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

// authFailure is the answer to an identity that the gateway did not pass on.
func authFailure(ref string) string { return `"exceptionCode":"AUTH_FAILURE","refId":"` + ref + `"` }

var _ = Describe("The identity of a caller", func() {
	routes := map[string][]string{
		"strict": {
			"POST /v1/api-keys", "GET /v1/api-keys/config", "POST /v1/api-keys/bulk-revoke", "GET /v1/api-keys/x", "DELETE /v1/api-keys/x",
		},
		"optional": {"GET /v1/models", "GET /v1/subscriptions", "GET /v1/model/x/subscriptions", "POST /v1/api-keys/search"},
	}
	ask := func(ctx SpecContext, c service.Client, route string) service.Response {
		var method, path string
		must(fmt.Sscan(route, &method, &path))
		return do(ctx, c, method, path, nil)
	}

	It("must come from the gateway, whole and readable (E-74, E-75, A38)", func(ctx SpecContext) {
		nobody := api.Client()
		broken := map[string]service.Client{
			"001": nobody.With(service.HeaderGroup, `["a"]`),
			"002": nobody.With(service.HeaderUsername, "alice"),
			"003": nobody.With(service.HeaderUsername, "alice").With(service.HeaderGroup, "not-valid"),
		}
		for _, route := range append(routes["strict"], routes["optional"]...) {
			for ref, client := range broken {
				Expect(ask(ctx, client, route)).To(answer(http.StatusInternalServerError, authFailure(ref)), "%s %s", route, ref)
			}
		}
		for _, route := range routes["strict"] {
			Expect(ask(ctx, nobody, route)).To(answer(http.StatusInternalServerError, authFailure("001")), route)
		}
		for _, route := range routes["optional"] {
			Expect(ask(ctx, nobody, route)).To(answer(http.StatusOK), route)
		}
	})

	It("is refused when a header comes twice, because one of the two is the client's (A23)", func(ctx SpecContext) {
		twice := api.Client().As("alice").With(service.HeaderUsername, "alice", "root")
		Expect(get(ctx, twice, keysPath+"/config")).To(answer(http.StatusInternalServerError, authFailure("001")))
	})

	DescribeTable("has groups in one of two forms (E-73)", func(ctx SpecContext, header string, status int) {
		client := api.Client().As("alice").With(service.HeaderGroup, header)
		Expect(get(ctx, client, keysPath+"/config")).To(HaveField("Status", status))
	},
		Entry("a JSON array", `["a","b"]`, 200), Entry("one word in brackets", `[a]`, 200), Entry("words in brackets", `[a b c]`, 200),
		Entry("no groups (fixed: refused)", `[]`, 200), Entry("blank groups (fixed: refused)", `["  ",""]`, 200),
		Entry("nothing", ``, 500), Entry("a list without brackets", `a,b`, 500), Entry("half a list", `["a"`, 500), Entry("an object", `{"a":1}`, 500),
	)
})
