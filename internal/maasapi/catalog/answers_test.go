// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
)

func TestAnswersOfAModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		serve    http.HandlerFunc
		want     bool
		requests int
		check    catalog.Check // Default: complete.
	}{
		"200 admits":                                           {serve: status(200), want: true, requests: 1},
		"200 with an empty list admits":                        {serve: body(200, `{"data":[]}`), want: true, requests: 1},
		"200 with two ids admits one model under our id":       {serve: body(200, `{"data":[{"id":"a"},{"id":"b"}]}`), want: true, requests: 1},
		"200 with an unreadable body admits":                   {serve: body(200, `<html>`), want: true, requests: 1},
		"200 with an oversized body admits":                    {serve: body(200, strings.Repeat("x", 5<<20)), want: true, requests: 1},
		"204 admits":                                           {serve: status(204), want: true, requests: 1},
		"405 admits":                                           {serve: status(405), want: true, requests: 1},
		"401 does not, and is not asked again":                 {serve: status(401), requests: 1},
		"403 does not, and is not asked again":                 {serve: status(403), requests: 1},
		"404 does not, and is not asked again":                 {serve: status(404), requests: 1},
		"a redirect does not, and is not followed":             {serve: redirect("/elsewhere"), requests: 1},
		"500 then 200 admits":                                  {serve: inTurn(500, 200), want: true, requests: 2},
		"429 then 405 admits":                                  {serve: inTurn(429, 405), want: true, requests: 2},
		"500 and 503 again and again do not":                   {serve: inTurn(500, 503, 500, 503, 200), requests: 4, check: catalog.CheckIncomplete},
		"503 then 403 does not":                                {serve: inTurn(503, 403), requests: 2},
		"no answer in time does not, and is not awaited again": {serve: hang, requests: 1, check: catalog.CheckIncomplete},
		"a broken connection is tried again":                   {serve: breaking(1), want: true, requests: 2},
		"connections that always break do not admit":           {serve: breaking(9), requests: 4, check: catalog.CheckIncomplete},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, map[string]http.HandlerFunc{"/llm/granite/v1/models": tc.serve})
			c := newCatalog(t, g, func(o *catalog.Options) { o.TryTimeout = 300 * time.Millisecond })
			l := c.list(t, gold(model("granite")).query())
			want := "complete"
			if tc.check != "" {
				want = string(tc.check)
			}
			if tc.want {
				want += " granite=llm/granite(gold)"
			}
			if diff := cmp.Diff(want, shown(l)); diff != "" {
				t.Errorf("listing (-want +got):\n%s", diff)
			}
			if got := len(g.asked()); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
}

// switching changes to another protocol, which nobody asked for, and says nothing
// more until the other side is gone.
func switching(end time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = conn.SetReadDeadline(end)
		_, _ = io.Copy(io.Discard, conn)
	}
}

func TestModelThatSwitchesProtocolsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	wall := clock.RealClock{}
	start := wall.Now()
	g := newGateway(t, map[string]http.HandlerFunc{"/llm/granite/v1/models": switching(start.Add(10 * time.Second))})
	l := newCatalog(t, g, func(o *catalog.Options) { o.TryTimeout = 300 * time.Millisecond }).list(t, gold(model("granite")).query())
	if diff := cmp.Diff("complete", shown(l)); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	if took := wall.Since(start); took > 5*time.Second {
		t.Errorf("took %s with a bound of 300 ms", took)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

// inTurn answers with one status after the other.
func inTurn(codes ...int) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[n.Add(1)-1]) }
}

// breaking cuts the first connections off and then answers 200.
func breaking(times int64) http.HandlerFunc {
	var n atomic.Int64
	return func(http.ResponseWriter, *http.Request) {
		if n.Add(1) <= times {
			panic(http.ErrAbortHandler)
		}
	}
}

func TestRequestToAModelCarriesTheCredentialAndTheSubscriptionOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		credential catalog.Credential
		want       http.Header
	}{
		"a bearer token, byte for byte": {
			catalog.NewCredential("bearer  "+secret+"=\t;x", ""),
			http.Header{"Authorization": {"bearer  " + secret + "=\t;x"}, "X-Maas-Subscription": {"gold"}},
		},
		"only Authorization where both are sent": {
			catalog.NewCredential("Bearer "+secret, "other"),
			http.Header{"Authorization": {"Bearer " + secret}, "X-Maas-Subscription": {"gold"}},
		},
		"a key without Authorization stays in its own header": {
			catalog.NewCredential("", secret),
			http.Header{"X-Api-Key": {secret}, "X-Maas-Subscription": {"gold"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
			q := gold(model("granite")).query()
			q.Credential = tc.credential
			if got := ids(newCatalog(t, g).list(t, q)); got != "granite" {
				t.Errorf("listed %q", got)
			}
			if diff := cmp.Diff(tc.want, g.requests[0].Header); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if got, want := g.requests[0].Method+" "+g.asked()[0], "GET "+host+" /llm/granite/v1/models"; got != want {
				t.Errorf("request %q, want %q", got, want)
			}
			if got := g.requests[0].TLS.ServerName; got != host {
				t.Errorf("asked for the certificate of %q, want %q", got, host)
			}
		})
	}
}

// Whatever a custom resource says, only the gateway is connected to, and what is
// not plainly a model's own https URL is neither asked nor shown.
func TestHostileEndpoints(t *testing.T) {
	t.Parallel()
	foreign := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
	tests := map[string]struct {
		endpoint string
		asked    string // Default: nobody is asked.
		listed   bool
	}{
		"the model's own":           {"https://" + host + "/llm/evil", host + " /llm/evil/v1/models", true},
		"a trailing slash":          {"https://" + host + "/llm/evil/", host + " /llm/evil/v1/models", true},
		"a foreign host":            {"https://evil.example.com/llm/evil", "evil.example.com /llm/evil/v1/models", true},
		"a foreign port":            {"https://maas.example.com:8443/llm/evil", "maas.example.com:8443 /llm/evil/v1/models", true},
		"http":                      {endpoint: "http://" + host + "/llm/evil"},
		"no scheme":                 {endpoint: "//" + host + "/llm/evil"},
		"another scheme":            {endpoint: "file:///etc/passwd"},
		"opaque":                    {endpoint: "https:maas.example.com/llm/evil"},
		"nothing":                   {endpoint: ""},
		"no host":                   {endpoint: "https:///llm/evil"},
		"userinfo":                  {endpoint: "https://maas.example.com:x@evil.example.com/llm/evil"},
		"empty userinfo":            {endpoint: "https://@evil.example.com/llm/evil"},
		"a loopback address":        {endpoint: "https://" + foreign.address() + "/llm/evil"},
		"a link-local address":      {endpoint: "https://169.254.169.254/llm/evil"},
		"an IPv6 loopback address":  {endpoint: "https://[::1]/llm/evil"},
		"a mapped loopback address": {endpoint: "https://[::ffff:127.0.0.1]/llm/evil"},
		"an address with a zone":    {endpoint: "https://[fe80::1%25eth0]/llm/evil"},
		"an address as one number":  {endpoint: "https://2130706433/llm/evil"},
		"a hexadecimal address":     {endpoint: "https://0x7f.1/llm/evil"},
		"localhost":                 {endpoint: "https://localhost/llm/evil"},
		"localhost with a dot":      {endpoint: "https://LOCALHOST./llm/evil"},
		"a service of the cluster":  {endpoint: "https://maas-api.odh.svc.cluster.local/llm/evil"},
		"a short service name":      {endpoint: "https://maas-api.odh.svc/llm/evil"},
		"a query":                   {endpoint: "https://" + host + "/llm/evil?x=/"},
		"an empty query":            {endpoint: "https://" + host + "/llm/evil?"},
		"a fragment":                {endpoint: "https://" + host + "/llm/evil#x"},
		"an empty fragment":         {endpoint: "https://" + host + "/llm/evil#"},
		"dots in the path":          {endpoint: "https://" + host + "/llm/../internal/v1"},
		"escaped dots":              {endpoint: "https://" + host + "/llm/%2e%2e/internal/v1"},
		"an escaped slash":          {endpoint: "https://" + host + "/llm%2f..%2finternal"},
		"a doubly escaped slash":    {endpoint: "https://" + host + "/llm%252f.."},
		"an empty segment":          {endpoint: "https://" + host + "//llm/evil"},
		"a backslash":               {endpoint: `https://` + host + `/llm\..\internal`},
		"a line break":              {endpoint: "https://" + host + "/llm\r\nX-Maas-Username: root"},
		"the root":                  {endpoint: "https://" + host},
		"the root with a slash":     {endpoint: "https://" + host + "/"},
		"maas-api itself":           {endpoint: "https://" + host + "/maas-api"},
		"maas-api's own version":    {endpoint: "https://" + host + "/v1"},
		"maas-api in capitals":      {endpoint: "https://" + host + "/MAAS-API/internal"},
		"an empty port":             {endpoint: "https://" + host + ":/llm/evil"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
			l := newCatalog(t, g).list(t, gold(model("evil", at(tc.endpoint))).query())
			if got := ids(l) == "evil"; got != tc.listed {
				t.Errorf("listed: %v, want %v", got, tc.listed)
			}
			if got := strings.Join(g.asked(), "; "); got != tc.asked {
				t.Errorf("asked %q, want %q", got, tc.asked)
			}
			if !tc.listed && l.Check != catalog.CheckIncomplete {
				t.Errorf("check %q: the model is missing because it cannot be asked", l.Check)
			}
		})
	}
	t.Cleanup(func() {
		if got := foreign.asked(); len(got) > 0 {
			t.Errorf("the foreign host was asked: %q", got)
		}
	})
}

func TestRedirectLeadsNowhere(t *testing.T) {
	t.Parallel()
	foreign := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
	g := newGateway(t, map[string]http.HandlerFunc{"*": redirect("https://" + foreign.address() + "/steal")})
	if got := ids(newCatalog(t, g).list(t, gold(model("granite")).query())); got != "" {
		t.Errorf("listed %q", got)
	}
	if got := foreign.asked(); len(got) > 0 {
		t.Errorf("the redirect was followed: %q", got)
	}
}

func TestCertificateMustBeThatOfTheHost(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*catalog.Options){
		"unknown authority": func(o *catalog.Options) { o.Roots = nil },
		"other host":        func(*catalog.Options) {},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
			endpoint := "https://" + host + "/llm/granite"
			if name == "other host" {
				endpoint = "https://maas.example.org/llm/granite"
			}
			c := newCatalog(t, g, change)
			if got := shown(c.list(t, gold(model("granite", at(endpoint))).query())); got != "incomplete" {
				t.Errorf("listing %q", got)
			}
			if len(g.asked()) > 0 {
				t.Error("the credential was sent to a host whose certificate is not trusted")
			}
			if got := c.counted(t, "maas_api_model_probes_total", "untrusted"); got != 1 {
				t.Errorf("%v untrusted certificates counted, want 1: it does not get better by asking again", got)
			}
		})
	}
}

func TestOnlyModelsTheCallerIsEntitledToAreAsked(t *testing.T) {
	t.Parallel()
	granite, llama, strangers, left := model("granite"), model("llama"), model("strangers"), model("left")
	w := gold(granite, llama, left)
	w.models = append(w.models, strangers)
	w.denied = "llama"
	w.subscriptions[0].Status.ModelRefStatuses[2].Ready = false // The operator left this entry out.
	g := newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
	if got := shown(newCatalog(t, g).list(t, w.query())); got != "complete granite=llm/granite(gold)" {
		t.Errorf("listing %q", got)
	}
	if diff := cmp.Diff([]string{host + " /llm/granite/v1/models"}, g.asked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestExternalModelsAreListedWithoutAsking(t *testing.T) {
	t.Parallel()
	w := gold(
		model("gpt", external("gpt-4o")), model("plain", external("opt"), at("http://"+host+"/plain")),
		model("bodily", external("claude"), at("")), model("dead", external("dead"), phase(v1alpha1.ModelPhasePending)),
	)
	g := newGateway(t, nil)
	l := newCatalog(t, g).list(t, w.query())
	if got, want := shown(l), "complete bodily=llm/bodily(gold) gpt=llm/gpt(gold) plain=llm/plain(gold)"; got != want {
		t.Errorf("listing %q, want %q", got, want)
	}
	urls := []string{l.Models[0].URL, l.Models[1].URL, l.Models[2].URL}
	if diff := cmp.Diff([]string{"", "https://" + host + "/llm/gpt", ""}, urls); diff != "" {
		t.Errorf("URLs: only https is shown (-want +got):\n%s", diff)
	}
	if len(g.asked()) > 0 {
		t.Errorf("asked %q", g.asked())
	}
}

func TestWithoutTheGatewayOnlyWhatNeedsNoAskingIsListed(t *testing.T) {
	t.Parallel()
	for name, gateway := range map[string]found{"unknown": {}, "an error": {err: errors.New("no Service")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCatalog(t, nil, func(o *catalog.Options) { o.Gateway = gateway })
			w := gold(model("granite"), model("gpt", external("gpt")))
			for range 3 {
				if got := shown(c.list(t, w.query())); got != "incomplete gpt=llm/gpt(gold)" {
					t.Errorf("listing %q", got)
				}
			}
			if got := strings.Count(c.log.String(), "the address of the gateway is not known"); got != 1 {
				t.Errorf("said %d times that the gateway is not known, want once", got)
			}
			if got := c.counted(t, "maas_api_model_probes_total", "no_gateway"); got != 3 {
				t.Errorf("%v times without gateway counted, want 3", got)
			}
			if got := c.counted(t, "maas_api_model_listings_total", "incomplete"); got != 3 {
				t.Errorf("%v incomplete listings counted, want 3", got)
			}
		})
	}
}

func TestGatewayThatIsGoneIsLeftInPeaceSoon(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	address := g.address()
	g.Close()
	var models []*v1alpha1.MaaSModelRef
	for name := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s t") {
		models = append(models, model(name))
	}
	fake := clocktesting.NewFakeClock(born)
	c := newCatalog(t, nil, func(o *catalog.Options) {
		o.Gateway, o.Clock, o.Tries, o.PerListing = found{address: address}, fake, 1, 1
	})
	if got := shown(c.list(t, gold(models...).query())); got != "incomplete" {
		t.Errorf("listing %q", got)
	}
	if got := c.counted(t, "maas_api_model_probes_total", "unreachable"); got != 5 {
		t.Errorf("%v connections tried, want 5", got)
	}
	if got := c.counted(t, "maas_api_model_probes_total", "breaker_open"); got != 15 {
		t.Errorf("%v models left out without trying, want 15", got)
	}
	fake.Step(10 * time.Second)
	c.list(t, gold(models...).query())
	if got := c.counted(t, "maas_api_model_probes_total", "unreachable"); got != 6 {
		t.Errorf("%v connections tried, want one more after the rest", got)
	}
}

func TestMovedGatewayIsFollowed(t *testing.T) {
	t.Parallel()
	before, after := newGateway(t, map[string]http.HandlerFunc{"*": status(200)}), newGateway(t, map[string]http.HandlerFunc{"*": status(200)})
	moving := &movingGateway{}
	moving.address.Store(new(before.address()))
	c := newCatalog(t, before, func(o *catalog.Options) { o.Gateway, o.AdmittedFor = moving, time.Nanosecond })
	w := gold(model("granite"))
	c.list(t, w.query())
	moving.address.Store(new(after.address()))
	c.list(t, w.query())
	if got := [2]int{len(before.asked()), len(after.asked())}; got != [2]int{1, 1} {
		t.Errorf("requests at the old and the new place: %v, want one each", got)
	}
}

func TestPolicyModeAsksNobody(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil, func(o *catalog.Options) { o.Mode = catalog.ModePolicy })
	shared := model("shared", at("https://"+host), alias("publishers/llm/models/shared"))
	l := c.list(t, gold(model("granite"), shared, model("plain", at("http://"+host+"/llm/plain"))).query())
	if got, want := shown(l), "policy granite=llm/granite(gold) publishers/llm/models/shared=llm/shared(gold)"; got != want {
		t.Errorf("listing %q, want %q", got, want)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := catalog.Options{Random: strings.NewReader(strings.Repeat("k", 32)), Clock: clock.RealClock{}}
	if _, err := catalog.New(good); err == nil {
		t.Error("a catalog without log and registry was made")
	}
}
