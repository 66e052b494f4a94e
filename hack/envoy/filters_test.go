// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package envoy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/xds/type/matcher/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/open_telemetry/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/json_to_metadata/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/req_without_query/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"
)

// filter is what is read of an EnvoyFilter.
type filter struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ConfigPatches []struct {
			ApplyTo string `json:"applyTo"`
			Patch   struct {
				Operation string          `json:"operation"`
				Value     json.RawMessage `json:"value"`
			} `json:"patch"`
		} `json:"configPatches"`
	} `json:"spec"`
}

// filters are the EnvoyFilters of all golden files, by file and name.
func filters(t *testing.T) map[string]filter {
	t.Helper()
	files, err := filepath.Glob("../../test/golden/*/testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]filter{}
	for _, file := range files {
		if !strings.HasPrefix(filepath.Base(file), "out") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var f filter
			if err := yaml.Unmarshal([]byte(document), &f); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if f.Kind == "EnvoyFilter" {
				found[file+" "+f.Metadata.Name] = f
			}
		}
	}
	return found
}

// typeOf is the type of what a patch applies to.
func typeOf(applyTo string) (proto.Message, error) {
	switch applyTo {
	case "CLUSTER":
		return &clusterv3.Cluster{}, nil
	case "HTTP_FILTER":
		return &hcmv3.HttpFilter{}, nil
	case "NETWORK_FILTER":
		return &listenerv3.Filter{}, nil
	case "HTTP_ROUTE":
		return &routev3.Route{}, nil
	default:
		return nil, fmt.Errorf("nothing is known of %s: add its type here", applyTo)
	}
}

func TestEnvoyCanReadEveryPatch(t *testing.T) {
	t.Parallel()
	all := filters(t)
	own := 0
	for name, f := range all {
		if strings.Contains(name, "maas-model-access-logs") {
			own++
		}
		for i, patch := range f.Spec.ConfigPatches {
			message, err := typeOf(patch.ApplyTo)
			if err != nil {
				t.Fatalf("%s: patch %d: %v", name, i, err)
			}
			if len(patch.Patch.Value) == 0 {
				continue
			}
			if err := protojson.Unmarshal(patch.Patch.Value, message); err != nil {
				t.Errorf("%s: patch %d of %s: %v", name, i, patch.ApplyTo, err)
				continue
			}
			// What is merged is a part of something, and need not be whole.
			for _, problem := range problems(message.ProtoReflect(), patch.Patch.Operation != "MERGE") {
				t.Errorf("%s: patch %d of %s: %s", name, i, patch.ApplyTo, problem)
			}
		}
	}
	if own < 4 {
		t.Errorf("%d EnvoyFilters of usage logs, want one of each tenant's case", own)
	}
}

// problems are what Envoy would find fault with in a message, and in all that are in
// it. A part of the connection manager that is merged is not whole, but the loggers in
// it are.
func problems(message protoreflect.Message, whole bool) []string {
	var found []string
	if v, ok := message.Interface().(interface{ Validate() error }); ok && whole {
		if err := v.Validate(); err != nil {
			found = append(found, err.Error())
		}
	}
	if packed, ok := message.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			return append(found, err.Error())
		}
		_, part := inner.(*hcmv3.HttpConnectionManager)
		return append(found, problems(inner.ProtoReflect(), !part)...)
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				found = append(found, problems(v.Message(), true)...)
				return true
			})
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				found = append(found, problems(value.List().Get(i).Message(), true)...)
			}
		case field.Message() != nil && !field.IsMap() && !field.IsList():
			found = append(found, problems(value.Message(), whole)...)
		}
		return true
	})
	return found
}
