// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otelcol_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/bearertokenauthextension"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/groupbyattrsprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/resourceprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
	"sigs.k8s.io/yaml"
)

// configuration writes that of the golden file to a file and returns its name. Files of
// the pod are replaced by some that there are here.
func configuration(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../test/golden/usage/testdata/installation/out.openshift.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var object struct {
			Kind string `json:"kind"`
			Spec struct {
				Config map[string]any `json:"config"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != "OpenTelemetryCollector" {
			continue
		}
		config, err := yaml.Marshal(object.Spec.Config)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Fatal("the golden file has no collector")
	return ""
}

func factories() (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	var err error
	if f.Extensions, err = otelcol.MakeFactoryMap[extension.Factory](bearertokenauthextension.NewFactory()); err != nil {
		return f, err
	}
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](
		memorylimiterprocessor.NewFactory(), resourceprocessor.NewFactory(), batchprocessor.NewFactory(),
		transformprocessor.NewFactory(), groupbyattrsprocessor.NewFactory(),
	); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory())
	return f, err
}

func resolver(file string) confmap.ResolverSettings {
	return confmap.ResolverSettings{URIs: []string{"file:" + file}, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()}}
}

func TestTheCollectorReadsItsConfiguration(t *testing.T) {
	t.Parallel()
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(), Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: resolver(configuration(t))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := collector.DryRun(t.Context()); err != nil {
		t.Errorf("DryRun() error = %v", err)
	}
}

// transformed has the transform processor change a record.
func transformed(t *testing.T, attributes map[string]string) map[string]any {
	t.Helper()
	r, err := confmap.NewResolver(resolver(configuration(t)))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	part, err := whole.Sub("processors::transform")
	if err != nil {
		t.Fatal(err)
	}
	factory := transformprocessor.NewFactory()
	config := factory.CreateDefaultConfig()
	if err := part.Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	sink := new(consumertest.LogsSink)
	p, err := factory.CreateLogs(t.Context(), processortest.NewNopSettings(factory.Type()), config, sink)
	if err != nil {
		t.Fatal(err)
	}
	logs := plog.NewLogs()
	record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	for name, value := range attributes {
		record.Attributes().PutStr(name, value)
	}
	if err := p.ConsumeLogs(t.Context(), logs); err != nil {
		t.Fatal(err)
	}
	return sink.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().AsRaw()
}

func TestRecordsAreTakenOutOfTheirQuotes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   map[string]string
		want map[string]any
	}{
		"a success": {
			map[string]string{
				"response_code": "200", "user_id": `"ann"`, "groups": `"a,b"`, "subscription": `"gold"`, "model": `"llm/m"`, "response_model": "m",
				"tokens_total": "3", "tokens_prompt": "1", "tokens_completion": "2", "key_name": `""`, "organization_id": "-",
			},
			map[string]any{
				"response_code": "200", "response_type": "hit", "user_id": "ann", "groups": "a,b", "subscription": "gold", "model": "llm/m", "response_model": "m",
				"tokens_total": "3", "tokens_prompt": "1", "tokens_completion": "2",
			},
		},
		"nobody": {
			map[string]string{"response_code": "401", "user_id": "-", "subscription": "-", "model": "-", "response_model": "-", "tokens_total": "-"},
			map[string]any{"response_code": "401", "response_type": "error", "tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0"},
		},
		"too many": {
			map[string]string{"response_code": "429", "user_id": `"-"`, "subscription": `"a\"b"`, "key_name": `"\u0007 \\n ä\u00e4 \\\\"`, "groups": `"}`, "response_model": `a"b`},
			map[string]any{
				"response_code": "429", "response_type": "rate_limit", "user_id": "-", "subscription": `a"b`,
				"key_name": "\a \\n ää \\\\", "groups": `"}`, "response_model": `a"b`,
				"tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0",
			},
		},
		// A user of one name is never filed under another's: the proxy asks for names as they
		// are.
		"a backslash": {
			map[string]string{"response_code": "200", "user_id": `"CORP\\ann"`},
			map[string]any{"response_code": "200", "response_type": "hit", "user_id": `CORP\ann`, "tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0"},
		},
		"two backslashes": {
			map[string]string{"response_code": "200", "user_id": `"CORP\\\\ann"`},
			map[string]any{"response_code": "200", "response_type": "hit", "user_id": `CORP\\ann`, "tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0"},
		},
		"another's name in a name": {
			map[string]string{"response_code": "200", "user_id": `"ann\",\"v\":\"bob"`},
			map[string]any{"response_code": "200", "response_type": "hit", "user_id": `ann","v":"bob`, "tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0"},
		},
		"a client that went": {
			map[string]string{"response_code": "0", "response_type": "hit"},
			map[string]any{"response_code": "0", "response_type": "error", "tokens_total": "0", "tokens_prompt": "0", "tokens_completion": "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, transformed(t, tc.in)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}
