// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const operator = "system:serviceaccount:opendatahub:maas-controller"

// received is when a request came, unless a record says otherwise.
var received = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// record is one line as the API server writes it.
type record struct {
	stage, user, verb, group, resource, subresource, query string
	code                                                   int
	received                                               time.Time
}

func (r record) String() string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":%q,`+
		`"requestURI":"/apis/x%s","verb":%q,"user":{"username":%q},`+
		`"objectRef":{"resource":%q,"subresource":%q,"namespace":"ns","name":"x","apiGroup":%q},`+
		`"responseStatus":{"metadata":{},"code":%d},`+
		`"requestReceivedTimestamp":%q,"stageTimestamp":"2026-01-02T03:04:06.000000Z"}`+"\n",
		cmp.Or(r.stage, "ResponseComplete"), r.query, r.verb, r.user, r.resource, r.subresource, r.group, cmp.Or(r.code, 200),
		cmp.Or(r.received, received).UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
}

func completed(user, verb, group, resource, subresource string) string {
	return record{user: user, verb: verb, group: group, resource: resource, subresource: subresource}.String()
}

func writeLog(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	appendLog(t, path, content)
	return path
}

func appendLog(t *testing.T, path, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		log     string
		filters []audit.Filter
		want    int
	}{
		"create counts":                          {log: completed(operator, "create", "kuadrant.io", "authpolicies", ""), want: 1},
		"update counts":                          {log: completed(operator, "update", "kuadrant.io", "authpolicies", ""), want: 1},
		"status patch counts":                    {log: completed(operator, "patch", "maas.opendatahub.io", "maasmodelrefs", "status"), want: 1},
		"delete counts":                          {log: completed(operator, "delete", "kuadrant.io", "authpolicies", ""), want: 1},
		"delete of a collection counts":          {log: completed(operator, "deletecollection", "", "pods", ""), want: 1},
		"refused write counts":                   {log: record{user: operator, verb: "patch", resource: "nodes", code: 403}.String(), want: 1},
		"dry run counts":                         {log: record{user: operator, verb: "patch", resource: "nodes", query: "?dryRun=All"}.String(), want: 1},
		"dry run can be left out":                {log: record{user: operator, verb: "patch", resource: "nodes", query: "?dryRun=All"}.String(), filters: []audit.Filter{audit.Stored()}},
		"event counts":                           {log: completed(operator, "create", "events.k8s.io", "events", ""), want: 1},
		"event can be left out":                  {log: completed(operator, "create", "", "events", ""), filters: []audit.Filter{audit.Not(audit.IsEvent())}},
		"somebody else's does not count":         {log: completed("alice", "create", "kuadrant.io", "authpolicies", "")},
		"read does not count":                    {log: completed(operator, "list", "kuadrant.io", "authpolicies", "")},
		"lease does not count":                   {log: completed(operator, "update", "coordination.k8s.io", "leases", "")},
		"token review does not count":            {log: completed(operator, "create", "authentication.k8s.io", "tokenreviews", "")},
		"access review does not count":           {log: completed(operator, "create", "authorization.k8s.io", "subjectaccessreviews", "")},
		"token request does not count":           {log: completed(operator, "create", "", "serviceaccounts", "token")},
		"service account itself counts":          {log: completed(operator, "create", "", "serviceaccounts", ""), want: 1},
		"resource named leases elsewhere counts": {log: completed(operator, "create", "example.com", "leases", ""), want: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := audit.Open(writeLog(t, tc.log)).Writes(operator, tc.filters...)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tc.want {
				t.Errorf("got %d writes, want %d: %v", len(got), tc.want, got)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	impersonated := `{"stage":"ResponseComplete","verb":"get","requestURI":"/api","user":{"username":"admin"},` +
		`"impersonatedUser":{"username":"alice","groups":["staff"]},"responseStatus":{"code":200}}` + "\n"
	terminating := `{"stage":"ResponseComplete","verb":"patch","requestURI":"/apis/x","user":{"username":"dora"},"objectRef":{"resource":"rules"},` +
		`"responseStatus":{"code":403,"message":"rules \"x\" is forbidden: create not allowed while custom resource definition is terminating"}}` + "\n"
	log := completed("alice", "get", "apps", "deployments", "status") +
		record{stage: "ResponseStarted", user: "alice", verb: "watch", group: "apps", resource: "deployments"}.String() +
		record{user: "alice", verb: "watch", group: "apps", resource: "deployments"}.String() +
		record{user: "bob", verb: "watch", group: "apps", resource: "deployments", code: 403}.String() +
		record{stage: "ResponseStarted", user: "bob", verb: "get", resource: "pods", subresource: "log"}.String() +
		impersonated + terminating
	tests := map[string]struct {
		filters []audit.Filter
		want    []string
	}{
		"each request once, an open watch included": {
			want: []string{"alice get deployments", "alice watch deployments", "bob watch deployments", "alice get ", "dora patch rules"},
		},
		"by user":                             {filters: []audit.Filter{audit.ByUser("bob", "carol")}, want: []string{"bob watch deployments"}},
		"the impersonated user counts":        {filters: []audit.Filter{audit.ByUser("admin")}},
		"by verb":                             {filters: []audit.Filter{audit.ByVerb(audit.VerbGet)}, want: []string{"alice get deployments", "alice get "}},
		"a resource with its subresources":    {filters: []audit.Filter{audit.ByResource("apps", "deployments")}, want: []string{"alice get deployments", "alice watch deployments", "bob watch deployments"}},
		"a subresource only":                  {filters: []audit.Filter{audit.ByResource("apps", "deployments/status")}, want: []string{"alice get deployments"}},
		"a resource without its subresources": {filters: []audit.Filter{audit.ByResource("apps", "deployments/")}, want: []string{"alice watch deployments", "bob watch deployments"}},
		"another group has none":              {filters: []audit.Filter{audit.ByResource("", "deployments")}},
		"by namespace":                        {filters: []audit.Filter{audit.InNamespace("other")}},
		"by name":                             {filters: []audit.Filter{audit.Named("x"), audit.ByUser("bob")}, want: []string{"bob watch deployments"}},
		"refused":                             {filters: []audit.Filter{audit.Forbidden()}, want: []string{"bob watch deployments", "dora patch rules"}},
		"refused because the kind is removed": {filters: []audit.Filter{audit.OfTerminatingKind()}, want: []string{"dora patch rules"}},
		"succeeded":                           {filters: []audit.Filter{audit.Succeeded(), audit.ByUser("bob")}},
		"since includes the moment":           {filters: []audit.Filter{audit.Since(received), audit.ByUser("bob")}, want: []string{"bob watch deployments"}},
		"since leaves out what was before":    {filters: []audit.Filter{audit.Since(received.Add(time.Millisecond))}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := audit.Open(writeLog(t, log)).Events(tc.filters...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				got = append(got, fmt.Sprintf("%s %s %s", e.User, e.Verb, e.Resource))
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrowingLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	log := audit.Open(path)
	expect := func(events []audit.Event, err error, want int, when string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if len(events) != want {
			t.Fatalf("%s: got %d events, want %d", when, len(events), want)
		}
	}
	events, err := log.Events()
	expect(events, err, 0, "before the file exists")

	first, second := completed("alice", "create", "", "pods", ""), completed("bob", "delete", "", "pods", "")
	appendLog(t, path, first+second[:20])
	events, err = log.Events()
	expect(events, err, 1, "with an unfinished line")

	appendLog(t, path, second[20:])
	events, err = log.Events()
	expect(events, err, 2, "with the line finished")
}

func TestAMarkGoesByWhenARequestCame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	log := audit.Open(path)
	before := time.Now()
	mark := audit.Now()
	appendLog(t, path, record{user: "slow", verb: "patch", received: before.Add(-time.Millisecond)}.String()+
		record{user: "prompt", verb: "patch", received: time.Time(mark)}.String())
	events, err := log.After(mark)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 || events[0].User != "prompt" {
		t.Errorf("got %v, want only the request that came after the mark", events)
	}
}

func TestBrokenLog(t *testing.T) {
	t.Parallel()
	if _, err := audit.Open(writeLog(t, "not json\n")).Events(); err == nil {
		t.Error("a log that cannot be understood must not pass for an empty one")
	}
}
