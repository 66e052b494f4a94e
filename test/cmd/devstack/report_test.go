// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/workload"
)

func TestWhatRunsIsReadBackByOthers(t *testing.T) {
	t.Parallel()
	l := layout{dir: t.TempDir()}
	empty, err := l.readReport()
	if err != nil || empty.service("maas-api") != "" || len(empty.servers()) != 0 {
		t.Fatalf("before anybody wrote: %+v, err = %v", empty, err)
	}
	told := workloadReport{
		Services: map[string]string{"odh-ai-gateway-infra/maas-api-red:8443": "127.0.0.1:1"},
		Programs: []podProgram{
			{Namespace: infraNamespace, Pod: "maas-api-red-84f796878c-zgfjt", PID: 7, Running: true, Ports: map[int32]string{metricsPort: "127.0.0.1:2"}},
			{Namespace: infraNamespace, Pod: "maas-api-79f8785b76-96b7g", Restarts: 2, Ports: map[int32]string{metricsPort: "127.0.0.1:3"}},
			{Namespace: infraNamespace, Pod: "maas-api-revoke-keys-red-t7sjs", Log: "log"},
		},
	}
	if err := writeJSON(l.workloadFile(), told); err != nil {
		t.Fatal(err)
	}
	read, err := l.readReport()
	if err != nil || !read.equal(told) || read.equal(empty) {
		t.Fatalf("read back: %+v, err = %v", read, err)
	}
	if got := read.service("maas-api-red"); got != "127.0.0.1:1" {
		t.Errorf("Service maas-api-red is at %q", got)
	}
	var names []string
	for _, p := range read.servers() { // The Job serves nobody.
		names = append(names, p.deployment())
	}
	if diff := cmp.Diff([]string{"maas-api", "maas-api-red"}, names); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	addresses, err := read.addresses()
	want := map[workload.ServicePort]string{{Namespace: infraNamespace, Name: "maas-api-red", Port: apiPort}: "127.0.0.1:1"}
	if diff := cmp.Diff(want, addresses); err != nil || diff != "" {
		t.Errorf("addresses: err = %v (-want +got):\n%s", err, diff)
	}
}

func TestTheOperatorIsToldWhatItsDeploymentSays(t *testing.T) {
	t.Parallel()
	environment, err := (layout{root: "../../.."}).managerEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if environment[maasAPIImage] == "" || environment["GATEWAY_NAME"] == "" {
		t.Errorf("variables = %v", environment)
	}
	if _, found := environment["CONTROLLER_NAMESPACE"]; found {
		t.Error("a variable without a value of its own is among them")
	}
}

func TestTheMessagesOfAJobAreShownWithTheirTenant(t *testing.T) {
	t.Parallel()
	log := `{"message":"AUDIT tenant-revoke","audit.tenant":"red"}
{"message":"Revoked the keys of the tenant","tenant":"red","keys":1}
no JSON
{"message":"No active key was found for a tenant of this name","tenant":"red"}
`
	want := []string{"Revoked the keys of the tenant: red, 1", "No active key was found for a tenant of this name: red"}
	if diff := cmp.Diff(want, messagesOf([]byte(log))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
