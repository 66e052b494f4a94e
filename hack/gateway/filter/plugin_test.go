// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"strings"
	"testing"
)

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	predicate := func(text string) string {
		return one(`{"service": "check", "scope": "s", "predicates": ["` + text + `"]}`)
	}
	data := func(service, item string) string {
		return one(`{"service": "` + service + `", "scope": "s", "conditionalData": [{"data": [` + item + `]}]}`)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":                         {`{`, "unexpected EOF"},
		"more than one value":             {one(``) + `{}`, "more than one value"},
		"an unknown field":                {one(``, `, "limits": []`), `unknown field "limits"`},
		"an unknown field of an action":   {one(`{"service": "auth", "scope": "s", "onReply": []}`), `unknown field "onReply"`},
		"an action of an extension":       {one(`{"type": "grpc", "service": "auth", "predicate": "true"}`), `type "grpc" is not known`},
		"a service that is not there":     {one(`{"service": "other", "scope": "s"}`), `no service "other"`},
		"a service that is not played":    {one(`{"service": "plain", "scope": "s"}`), `"ratelimit", which the stand-in does not play`},
		"a failure mode":                  {`{"services": {"a": {"type": "auth", "endpoint": "e", "failureMode": "maybe"}}, "actionSets": []}`, `failure mode "maybe"`},
		"a time":                          {`{"services": {"a": {"type": "auth", "endpoint": "e", "failureMode": "deny", "timeout": "soon"}}, "actionSets": []}`, "invalid duration"},
		"auth with data":                  {data("auth", `{"static": {"key": "a", "value": "b"}}`), "carries data"},
		"data of both kinds":              {data("check", `{"static": {"key": "a", "value": "b"}, "expression": {"key": "a", "value": "'b'"}}`), "neither static nor"},
		"data of no kind":                 {data("check", `{}`), "neither static nor"},
		"data of an unknown kind":         {data("check", `{"selector": {}}`), `unknown field "selector"`},
		"a value that is no text":         {data("check", `{"expression": {"key": "a", "value": "[1]"}}`), "no matching overload"},
		"a check that asks for the reply": {data("check", `{"expression": {"key": "a", "value": "responseBodyJSON('/a')"}}`), "asks for the reply"},
		"no CEL":                          {predicate("a =="), "Syntax error"},
		"a variable":                      {predicate("ratelimit.domain == ''"), "undeclared reference"},
		"a function":                      {predicate("queryMap(request.query)['a'] == ''"), "undeclared reference"},
		"a function of another evaluator": {predicate("type(auth) == string"), `function "type" is not known`},
		"a function of a newer library":   {predicate("'a'.format([]) == ''"), `function "format" is not known`},
		"a function inside of a macro":    {predicate("[1].exists(i, dyn(i) == 1)"), `function "dyn" is not known`},
		"an attribute":                    {predicate("request.body == ''"), "request.body is not known"},
		"an attribute inside of a macro":  {predicate("[1].exists(i, source.service == '')"), "source.service is not known"},
		"an attribute that is tested for": {predicate("has(request.raw_body)"), "request.raw_body is not known"},
		"a root as a whole":               {predicate("size(request) > 0"), "request is used as a whole"},
		"a root by index":                 {predicate("request['path'] == ''"), "request is used as a whole"},
		"the reply by another name":       {predicate("responseBodyJSON(request.path) == ''"), "takes a literal text"},
		"a predicate that is a number":    {predicate("1 + 1"), "is of type int"},
		"a route that is chosen by replies": {
			`{` + services + `, "actionSets": [{"name": "n", "routeRuleConditions": {"hostnames": ["*"], "predicates": ["responseBodyJSON('/a') == 1"]}, "actions": []}]}`,
			"chooses a route by the reply",
		},
		"request data": {one(``, `, "requestData": {"metrics.labels.a": "nobody.name"}`), "undeclared reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := compiled(t, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWhatExpressionsSee(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`request.path`:     "/shop/cart?x=/v1/models",
		`request.url_path`: "/shop/cart",
		`request.query`:    "x=/v1/models",
		`request.method + ' ' + request.protocol`:              "POST HTTP/1.1",
		`request.scheme + '://' + request.host`:                "https://a.example.com:8443",
		`request.id`:                                           "r1",
		`request.useragent`:                                    "test",
		`request.referer == null`:                              "true",
		`request.size`:                                         "0",
		`request.time.getFullYear()`:                           "2026",
		`request.headers['x-twice']`:                           "1,2",
		`request.headers[':path']`:                             "/shop/cart?x=/v1/models",
		`'X-Who' in request.headers`:                           "false",
		`request.headers.exists(h, h.upperAscii() == 'X-WHO')`: "true",
		`source.address + ' ' + source.remote_address`:         "127.0.0.1:4444 127.0.0.1",
		`source.port + destination.port`:                       "4887",
		`connection.requested_server_name`:                     "a.example.com",
		`connection.tls_version`:                               "TLSv1.3",
		`connection.mtls`:                                      "false",
		`auth == null`:                                         "true",
		`['a', 'b'].join('-') + 'Ab'.upperAscii()`:             "a-bAB",
		`'abc'.substring(1) + ' a '.trim() + 'abc'.charAt(0)`:  "bcaa",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := benchWith(t, one(`{"service": "check", "scope": "s", "conditionalData": [{"data": [{"expression": {"key": "k", "value": `+quoted(text)+`}}]}]}`), nil)
			if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
				t.Fatalf("answer %+v", answer)
			}
			d := b.last(t)
			if results(d) != "check:within" || d.Steps[0].Descriptors[0]["k"] != want {
				t.Errorf("%s with %v (%s), want %q", results(d), d.Steps[0].Descriptors, d.Steps[0].Error, want)
			}
		})
	}
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func TestWhichActionSetTakesARequest(t *testing.T) {
	t.Parallel()
	set := func(name, host, predicate string) string {
		return `{"name": "` + name + `", "routeRuleConditions": {"hostnames": ["` + host + `"], "predicates": [` + predicate + `]}, "actions": []}`
	}
	configuration := `{` + services + `, "actionSets": [` + strings.Join([]string{
		set("exact", "A.example.com", `"request.url_path.startsWith('/a')"`),
		set("exact-later", "a.example.com", `"request.url_path.startsWith('/a/b')"`),
		set("wild", "*.example.com", ``),
		set("deep", "*.b.example.com", `"request.method == 'GET'", "request.url_path == '/x'"`),
		set("any", "*", `"request.url_path != '/none'"`),
		set("broken", "broken.org", `"auth.name > 'x'"`),
	}, ",") + `]}`
	for name, tc := range map[string]struct{ method, host, path, want string }{
		"the host and the path":                  {"GET", "a.example.com", "/a/x", "exact"},
		"in any letter case and with a port":     {"GET", "A.EXAMPLE.com:8443", "/a", "exact"},
		"the first one that matches":             {"GET", "a.example.com", "/a/b", "exact"},
		"no other one than for this host":        {"GET", "a.example.com", "/other", ""},
		"a wildcard":                             {"GET", "b.example.com", "/other", "wild"},
		"a wildcard over several names":          {"GET", "x.y.example.com", "/other", "wild"},
		"the longest wildcard":                   {"GET", "x.b.example.com", "/x", "deep"},
		"the longest wildcard and all its words": {"POST", "x.b.example.com", "/x", ""},
		"a wildcard is not for its own domain":   {"GET", "example.com", "/a", "any"},
		"any other host":                         {"GET", "other.org", "/a", "any"},
		"any other host, but not any path":       {"GET", "other.org", "/none", ""},
		"a predicate that fails":                 {"GET", "broken.org", "/", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchWith(t, configuration, nil)
			r := request()
			r.Method, r.Host, r.Path = tc.method, tc.host, tc.path
			_, answer := b.plugin.Begin(t.Context(), b.services, r)
			d := b.last(t)
			wantOutcome, wantSet := OutcomePassed, tc.want
			switch tc.want {
			case "":
				wantOutcome = OutcomeUnmatched
			case "error":
				wantOutcome, wantSet = OutcomeFailed, ""
			}
			if d.Outcome != wantOutcome || d.ActionSet != wantSet || (answer != nil) != (wantOutcome == OutcomeFailed) {
				t.Errorf("%s by %q with answer %+v, want %s by %q", d.Outcome, d.ActionSet, answer, wantOutcome, wantSet)
			}
		})
	}
}

func TestNamesOfRequestData(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"metrics.labels.user": {"metrics.labels", "user"},
		"metrics.labels.u1":   {"metrics.labels", "u1"},
		"user":                {"", "user"},
		".user":               {"", ".user"},
		"user.":               {"", "user."},
		"a.b.c.d":             {"a.b.c", "d"},
		"12":                  {"", "12"},
	} {
		if domain, field := domainAndField(name); domain != want[0] || field != want[1] {
			t.Errorf("%s is %q of %q, want %q of %q", name, field, domain, want[1], want[0])
		}
	}
}
