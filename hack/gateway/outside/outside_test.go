// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outside

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse reads objects, sorted by their kinds.
func parse(t *testing.T, text string) Objects {
	t.Helper()
	var all Objects
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		switch object.GetKind() {
		case "Service":
			all.Services = append(all.Services, object)
		case "ServiceEntry":
			all.ServiceEntries = append(all.ServiceEntries, object)
		case "DestinationRule":
			all.DestinationRules = append(all.DestinationRules, object)
		}
	}
	return all
}

const (
	alias = "\n---\nkind: Service\nmetadata: {namespace: llm, name: maas-gpt}\nspec: {type: ExternalName, externalName: api.test}"
	known = "\n---\nkind: ServiceEntry\nmetadata: {namespace: llm, name: a, creationTimestamp: '2030-01-01T00:00:00Z'}\n" +
		"spec: {hosts: [api.test], location: MESH_EXTERNAL, resolution: DNS, ports: [{number: 443, protocol: HTTPS}, {number: 80, protocol: HTTP}]}"
	secured = "\n---\nkind: DestinationRule\nmetadata: {namespace: llm, name: a, creationTimestamp: '2030-01-01T00:00:00Z'}\n" +
		"spec: {host: api.test, trafficPolicy: {portLevelSettings: [{port: {number: 443}, tls: {mode: SIMPLE, sni: api.test, subjectAltNames: [api.test]}}]}}"
)

func TestWhereAServiceLeadsTo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		objects string
		port    int
		want    Way
		inside  bool
		fault   string
	}{
		"a Service of the cluster":  {objects: "kind: Service\nmetadata: {namespace: llm, name: maas-gpt}\nspec: {type: ClusterIP}", port: 443, inside: true},
		"no such Service":           {objects: known, port: 443, inside: true},
		"a host that nobody knows":  {objects: alias, port: 443, fault: "no ServiceEntry"},
		"a port that nobody knows":  {objects: alias + known + secured, port: 8443, fault: "no port 8443"},
		"over TLS":                  {objects: alias + known + secured, port: 443, want: Way{Host: "api.test", Port: 443, TLS: true, ServerName: "api.test", Names: []string{"api.test"}}},
		"a port without TLS":        {objects: alias + known + secured, port: 80, want: Way{Host: "api.test", Port: 80}},
		"without a DestinationRule": {objects: alias + known, port: 443, want: Way{Host: "api.test", Port: 443}},
		"an entry that is not exported to the gateway": {
			objects: alias + strings.Replace(known, "hosts:", "exportTo: [.], hosts:", 1), port: 443, fault: "no ServiceEntry",
		},
		"an entry of a way that is not known": {
			objects: alias + strings.Replace(known, "resolution: DNS", "resolution: STATIC", 1), port: 443, fault: "unknown to the stand-in",
		},
		"TLS of a way that is not known": {
			objects: alias + known + strings.Replace(secured, "SIMPLE", "MUTUAL", 1), port: 443, fault: "unknown to the stand-in",
		},
		"the older of two rules": {
			objects: alias + known + strings.Replace(strings.Replace(secured, "2030", "2031", 1), "443", "80", 1) + secured, port: 80, want: Way{Host: "api.test", Port: 80},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mesh, err := Compile(parse(t, strings.TrimPrefix(tc.objects, "\n---\n")), "gateways")
			if err != nil {
				t.Fatal(err)
			}
			way, outside, err := mesh.Find("llm/maas-gpt", tc.port)
			if outside == tc.inside || (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Fatalf("Find() = %+v, %t, %v", way, outside, err)
			}
			if err == nil && !reflect.DeepEqual(way, tc.want) {
				t.Errorf("Find() = %+v, want %+v", way, tc.want)
			}
		})
	}
}
