// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"crypto/tls"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
)

func load(t *testing.T, flags, environment map[string]string) config.Result {
	t.Helper()
	got, err := config.Load(config.Input{Flags: flags, Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var prefixes = cmpopts.EquateComparable(netip.Prefix{})

func TestDefaults(t *testing.T) {
	t.Parallel()
	want := config.Config{
		General: config.General{
			InstanceName: "maas-default-gateway", Namespace: "maas-api", TenantName: "models-as-a-service",
			SubscriptionNamespace: "models-as-a-service", StartTimeout: 2 * time.Minute, LogLevel: "info", LogFormat: "json",
		},
		Listeners: config.Listeners{
			Address: ":8080", MetricsAddress: ":9090", MetricsPort: 9090, ShutdownDrain: 5 * time.Second, ShutdownTimeout: 15 * time.Second,
		},
		TLS: config.TLS{
			SelfSignedFor: []string{
				"localhost", "127.0.0.1", "::1", "maas-api", "maas-api.maas-api", "maas-api.maas-api.svc", "maas-api.maas-api.svc.cluster.local",
			},
			MinVersion: tls.VersionTLS12, Profile: config.TLSProfileAuto,
		},
		Gateway: config.Gateway{
			GatewayName: "maas-default-gateway", GatewayNamespace: "openshift-ingress", ProbeMode: config.ProbeModels,
			AccessCheckTimeout: 15 * time.Second, AdminCacheSize: 8192,
		},
		Database: config.Database{
			MaxConns: 25, MinConns: 5, ConnMaxLifetime: 5 * time.Minute, StatementTimeout: 5 * time.Second,
			AcquireTimeout: 100 * time.Millisecond, DatabaseGrace: 30 * time.Second,
		},
		Keys: config.Keys{
			MaxExpirationDays: 90, RetentionDays: 90, MaxPerUser: 1000, CacheMaxEntries: 250_000, CacheStaleAfter: 2 * time.Second,
			PollInterval: time.Second, LastUsedDebounce: time.Minute, LastUsedInterval: 5 * time.Second,
		},
		Tracing: config.Tracing{SampleRate: 1},
	}
	got := load(t, nil, nil)
	if diff := cmp.Diff(want, got.Config, prefixes); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if len(got.Warnings) > 0 || len(got.Given(config.SourceFlag)) > 0 || len(got.Given(config.SourceEnvironment)) > 0 {
		t.Errorf("warnings %v, sources %v", got.Warnings, got.Sources)
	}
}

// value is a setting with two values that differ from each other and from the
// default, and what else must be given for it to be valid.
type value struct {
	one, two string
	beside   map[string]string
}

// values has every setting: a new one without values fails the tests.
func values() map[string]value {
	secure := map[string]string{"tls-self-signed": "true"}
	return map[string]value{
		"name":                            {one: "a", two: "b"},
		"namespace":                       {one: "a", two: "b"},
		"tenant-name":                     {one: "a", two: "b"},
		"tenant-uid":                      {one: "a", two: "b"},
		"maas-subscription-namespace":     {one: "a", two: "b"},
		"kubeconfig":                      {one: "a", two: "b"},
		"start-timeout":                   {one: "1s", two: "5m"},
		"snapshot-max-age":                {one: "30s", two: "5m"},
		"debug":                           {one: "true", two: "false"},
		"log-level":                       {one: "error", two: "warn"},
		"log-format":                      {one: "text", two: "json"},
		"address":                         {one: "127.0.0.1:1", two: "[::1]:2"},
		"internal-address":                {one: "127.0.0.1:1", two: ":2"},
		"allow-gateway-marked-internal":   {one: "true", two: "false"},
		"metrics-port":                    {one: "1", two: "65535"},
		"metrics-address":                 {one: ":1", two: "127.0.0.1:0"},
		"port":                            {one: "1", two: "65535"},
		"trusted-proxies":                 {one: "10.0.0.0/8, ::1", two: "192.0.2.1"},
		"shutdown-drain":                  {one: "0s", two: "1m"},
		"shutdown-timeout":                {one: "1s", two: "1m"},
		"secure":                          {one: "true", two: "1", beside: secure},
		"tls-cert":                        {one: "a", two: "b", beside: map[string]string{"tls-key": "k"}},
		"tls-key":                         {one: "a", two: "b", beside: map[string]string{"tls-cert": "c"}},
		"tls-self-signed":                 {one: "true", two: "false"},
		"tls-self-signed-names":           {one: "a, b", two: "c", beside: secure},
		"tls-min-version":                 {one: "1.3", two: "1.2"},
		"tls-profile":                     {one: "off", two: "auto"},
		"gateway-name":                    {one: "a", two: "b"},
		"gateway-namespace":               {one: "a", two: "b"},
		"gateway-address":                 {one: "a:1", two: "b:2"},
		"gateway-ca-file":                 {one: "a", two: "b"},
		"probe-mode":                      {one: "policy", two: "probe"},
		"access-check-timeout-seconds":    {one: "1", two: "20"},
		"discovery-enable-http2":          {one: "true", two: "false"},
		"sar-cache-max-size":              {one: "1", two: "2"},
		"database-url-file":               {one: "a", two: "b"},
		"db-max-open-conns":               {one: "5", two: "6"},
		"db-max-idle-conns":               {one: "0", two: "6"},
		"db-conn-max-lifetime-seconds":    {one: "1", two: "2"},
		"db-statement-timeout":            {one: "1s", two: "2s"},
		"db-acquire-timeout":              {one: "1s", two: "2s"},
		"database-grace":                  {one: "0s", two: "2s"},
		"api-key-max-expiration-days":     {one: "1", two: "2"},
		"api-key-deletion-retention-days": {one: "1", two: "2"},
		"api-key-max-per-user":            {one: "0", two: "2"},
		"key-cache-max-entries":           {one: "1", two: "2"},
		"key-cache-stale-after":           {one: "3s", two: "4s"},
		"key-poll-interval":               {one: "100ms", two: "200ms"},
		"last-used-debounce-secs":         {one: "0", two: "2"},
		"last-used-interval":              {one: "1s", two: "2s"},
		"otel-exporter-otlp-endpoint":     {one: "a", two: "b"},
		"otel-exporter-otlp-insecure":     {one: "true", two: "false"},
		"otel-traces-sample-rate":         {one: "0", two: "0.5"},
	}
}

func TestFlagWinsOverEnvironmentOverDefault(t *testing.T) {
	t.Parallel()
	known := values()
	for _, s := range config.Settings() {
		t.Run(s.Flag, func(t *testing.T) {
			t.Parallel()
			v, found := known[s.Flag]
			if !found {
				t.Fatal("no values for this setting")
			}
			with := func(text string) map[string]string {
				flags := maps.Clone(v.beside)
				if flags == nil {
					flags = map[string]string{}
				}
				if text != "" {
					flags[s.Flag] = text
				}
				return flags
			}
			one, two := load(t, with(v.one), nil), load(t, with(v.two), nil)
			// secure has one value only beside a certificate: without, it would be refused.
			if s.Flag != "secure" && cmp.Equal(one.Config, two.Config, prefixes) {
				t.Error("its values make no difference")
			}
			fromEnvironment := load(t, v.beside, map[string]string{s.Env: v.one})
			if diff := cmp.Diff(one.Config, fromEnvironment.Config, prefixes); diff != "" || fromEnvironment.Sources[s.Flag] != config.SourceEnvironment {
				t.Errorf("environment, source %v (-flag +environment):\n%s", fromEnvironment.Sources[s.Flag], diff)
			}
			both := load(t, with(v.two), map[string]string{s.Env: v.one})
			if diff := cmp.Diff(two.Config, both.Config, prefixes); diff != "" || both.Sources[s.Flag] != config.SourceFlag {
				t.Errorf("flag and environment, source %v (-want +got):\n%s", both.Sources[s.Flag], diff)
			}
		})
	}
}

func TestEnvironmentThatTheFlagOverridesMayBeAnything(t *testing.T) {
	t.Parallel()
	got := load(t, map[string]string{"metrics-port": "1"}, map[string]string{"METRICS_PORT": "abc"})
	if got.Config.MetricsPort != 1 {
		t.Errorf("port is %d", got.Config.MetricsPort)
	}
}

func TestEmptyVariableIsNotSet(t *testing.T) {
	t.Parallel()
	environment := map[string]string{}
	for _, s := range config.Settings() {
		if s.Env != "TENANT_NAME" && !strings.Contains(s.Env, "NAMESPACE") && s.Env != "GATEWAY_NAME" {
			environment[s.Env] = ""
		}
	}
	if diff := cmp.Diff(load(t, nil, nil).Config, load(t, nil, environment).Config, prefixes); diff != "" {
		t.Errorf("(-unset +empty):\n%s", diff)
	}
}

func TestSettingsAreUniqueAndDescribed(t *testing.T) {
	t.Parallel()
	flags, variables := map[string]bool{}, map[string]bool{}
	for _, s := range config.Settings() {
		if flags[s.Flag] || variables[s.Env] {
			t.Errorf("--%s or %s exists twice", s.Flag, s.Env)
		}
		flags[s.Flag], variables[s.Env] = true, true
		if s.Usage == "" || strings.HasSuffix(s.Usage, ".") || s.Kind == "" || !slices.Contains(config.AllGroups(), s.Group) {
			t.Errorf("--%s is not described", s.Flag)
		}
	}
}

func TestWhatFollowsFromOtherSettings(t *testing.T) {
	t.Parallel()
	pair := map[string]string{"tls-cert": "c", "tls-key": "k"}
	for name, tc := range map[string]struct {
		flags map[string]string
		read  func(config.Config) any
		want  any
	}{
		"HTTPS moves the port":            {pair, func(c config.Config) any { return c.Address }, ":8443"},
		"a certificate means HTTPS":       {pair, func(c config.Config) any { return c.Secure }, true},
		"self-signed means HTTPS":         {map[string]string{"tls-self-signed": "true"}, func(c config.Config) any { return c.Secure }, true},
		"a pair overrides self-signed":    {with(pair, "tls-self-signed", "true"), func(c config.Config) any { return c.SelfSigned }, false},
		"the old port is an address":      {map[string]string{"port": "1234"}, func(c config.Config) any { return c.Address }, ":1234"},
		"an address beats the old port":   {map[string]string{"port": "1234", "address": ":99"}, func(c config.Config) any { return c.Address }, ":99"},
		"debug logs everything":           {map[string]string{"debug": "true"}, func(c config.Config) any { return c.LogLevel }, "debug"},
		"a given level beats debug":       {map[string]string{"debug": "true", "log-level": "warn"}, func(c config.Config) any { return c.LogLevel }, "warn"},
		"few connections, fewer idle":     {map[string]string{"db-max-open-conns": "3"}, func(c config.Config) any { return c.MinConns }, 3},
		"the instance is the gateway":     {map[string]string{"gateway-name": "g"}, func(c config.Config) any { return c.InstanceName }, "g"},
		"a tenant's Service has a suffix": {map[string]string{"tenant-name": "red"}, func(c config.Config) any { return slices.Contains(c.SelfSignedFor, "maas-api-red.maas-api.svc") }, true},
		"retention is in days":            {map[string]string{"api-key-deletion-retention-days": "2"}, func(c config.Config) any { return c.Retention() }, 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.read(load(t, tc.flags, nil).Config); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func with(base map[string]string, pairs ...string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func TestGroupsThatDoNotCount(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.Input{
		Groups:      []config.Group{config.GroupGeneral, config.GroupDatabase},
		Environment: map[string]string{"PORT": "abc", "SECURE": "true", "DB_MAX_OPEN_CONNS": "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, counted := got.Sources["secure"]; counted || got.Config.MaxConns != 3 {
		t.Errorf("sources %v, connections %d", got.Sources, got.Config.MaxConns)
	}
}
