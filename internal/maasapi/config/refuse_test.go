// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
)

// Each value stands for a secret in the wrong place: no message may repeat it.
const misplaced = "hunter2"

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags       map[string]string
		environment map[string]string
		want        []string // What the message must name.
	}{
		"a certificate without its key":    {flags: map[string]string{"tls-cert": "c"}, want: []string{"--tls-cert (TLS_CERT) and --tls-key (TLS_KEY) must"}},
		"a key without its certificate":    {flags: map[string]string{"tls-key": "k"}, want: []string{"--tls-cert (TLS_CERT) and --tls-key (TLS_KEY) must"}},
		"HTTPS without a certificate":      {flags: map[string]string{"secure": "true"}, want: []string{"--secure", "--tls-cert", "--tls-key", "--tls-self-signed"}},
		"a certificate but no HTTPS":       {flags: map[string]string{"secure": "false", "tls-cert": "c", "tls-key": "k"}, want: []string{"--secure", "--tls-cert"}},
		"self-signed but no HTTPS":         {flags: map[string]string{"secure": "false", "tls-self-signed": "true"}, want: []string{"--secure", "--tls-self-signed"}},
		"the old port and HTTPS":           {flags: map[string]string{"port": "1", "tls-self-signed": "true"}, want: []string{"--port (PORT)", "--tls-self-signed"}},
		"the old port and a certificate":   {flags: map[string]string{"port": "1", "tls-cert": "c", "tls-key": "k"}, want: []string{"--port (PORT)", "--tls-cert"}},
		"the old port and half a pair":     {flags: map[string]string{"port": "1", "tls-cert": "c"}, want: []string{"--port (PORT)", "--tls-cert", "--tls-key"}},
		"the old port, secure":             {environment: map[string]string{"PORT": "1", "SECURE": "true"}, want: []string{"--port (PORT)", "--secure (SECURE)"}},
		"an old port that is no number":    {environment: map[string]string{"PORT": misplaced}, want: []string{"--port (PORT)"}},
		"an old port that is too large":    {flags: map[string]string{"port": "65536"}, want: []string{"--port"}},
		"one port twice":                   {flags: map[string]string{"address": ":9090"}, want: []string{"--address", "--metrics-port"}},
		"one port twice, another host":     {flags: map[string]string{"address": "127.0.0.1:9", "metrics-address": ":9"}, want: []string{"--address", "--metrics-address"}},
		"internal on the public port":      {flags: map[string]string{"address": ":1", "internal-address": "0.0.0.0:1"}, want: []string{"--address", "--internal-address"}},
		"internal on the default port":     {flags: map[string]string{"internal-address": ":8080"}, want: []string{"--address", "--internal-address"}},
		"internal on the metrics port":     {flags: map[string]string{"internal-address": ":9090"}, want: []string{"--internal-address", "--metrics-port"}},
		"two addresses of metrics":         {flags: map[string]string{"metrics-address": ":1", "metrics-port": "1"}, want: []string{"--metrics-port", "--metrics-address"}},
		"an address without a port":        {flags: map[string]string{"address": misplaced}, want: []string{"--address"}},
		"a gateway without a host":         {flags: map[string]string{"gateway-address": ":443"}, want: []string{"--gateway-address"}},
		"more idle than open":              {flags: map[string]string{"db-max-open-conns": "3", "db-max-idle-conns": "4"}, want: []string{"--db-max-idle-conns", "--db-max-open-conns"}},
		"polls too rare":                   {flags: map[string]string{"key-poll-interval": "3s"}, want: []string{"--key-poll-interval", "--key-cache-stale-after"}},
		"a snapshot's age too short":       {flags: map[string]string{"snapshot-max-age": "29s"}, want: []string{"--snapshot-max-age"}},
		"a blank tenant":                   {environment: map[string]string{"TENANT_NAME": "  "}, want: []string{"--tenant-name (TENANT_NAME)"}},
		"an empty tenant":                  {environment: map[string]string{"TENANT_NAME": ""}, want: []string{"--tenant-name (TENANT_NAME)"}},
		"a tenant with a line break":       {environment: map[string]string{"TENANT_NAME": "a\nb"}, want: []string{"--tenant-name"}},
		"a blank namespace":                {environment: map[string]string{"MAAS_SUBSCRIPTION_NAMESPACE": " "}, want: []string{"MAAS_SUBSCRIPTION_NAMESPACE"}},
		"a namespace that is none":         {environment: map[string]string{"MAAS_SUBSCRIPTION_NAMESPACE": "Hunter2_" + misplaced}, want: []string{"MAAS_SUBSCRIPTION_NAMESPACE"}},
		"no life at all":                   {environment: map[string]string{"API_KEY_MAX_EXPIRATION_DAYS": "0"}, want: []string{"API_KEY_MAX_EXPIRATION_DAYS"}},
		"a life that is no number":         {environment: map[string]string{"API_KEY_MAX_EXPIRATION_DAYS": misplaced}, want: []string{"API_KEY_MAX_EXPIRATION_DAYS"}},
		"no retention":                     {environment: map[string]string{"API_KEY_DELETION_RETENTION_DAYS": "0"}, want: []string{"API_KEY_DELETION_RETENTION_DAYS"}},
		"no time for checks":               {environment: map[string]string{"ACCESS_CHECK_TIMEOUT_SECONDS": "0"}, want: []string{"ACCESS_CHECK_TIMEOUT_SECONDS"}},
		"a negative debounce":              {environment: map[string]string{"LAST_USED_DEBOUNCE_SECS": "-1"}, want: []string{"LAST_USED_DEBOUNCE_SECS"}},
		"a metrics port that is none":      {environment: map[string]string{"METRICS_PORT": "0"}, want: []string{"METRICS_PORT"}},
		"no cache of admins":               {environment: map[string]string{"SAR_CACHE_MAX_SIZE": "0"}, want: []string{"SAR_CACHE_MAX_SIZE"}},
		"an old version of TLS":            {environment: map[string]string{"TLS_MIN_VERSION": "1.1"}, want: []string{"TLS_MIN_VERSION"}},
		"a boolean that is none":           {environment: map[string]string{"SECURE": misplaced}, want: []string{"SECURE"}},
		"a rate above 1":                   {environment: map[string]string{"OTEL_TRACES_SAMPLE_RATE": "1.1"}, want: []string{"OTEL_TRACES_SAMPLE_RATE"}},
		"a rate that is no number":         {environment: map[string]string{"OTEL_TRACES_SAMPLE_RATE": "NaN"}, want: []string{"OTEL_TRACES_SAMPLE_RATE"}},
		"a duration without a unit":        {environment: map[string]string{"DATABASE_GRACE": "30"}, want: []string{"DATABASE_GRACE"}},
		"a proxy that is no address":       {environment: map[string]string{"TRUSTED_PROXIES": "10.0.0.1, " + misplaced}, want: []string{"TRUSTED_PROXIES"}},
		"an unknown mode":                  {environment: map[string]string{"PROBE_MODE": misplaced}, want: []string{"PROBE_MODE", "probe, policy"}},
		"every problem at once":            {environment: map[string]string{"SECURE": misplaced, "METRICS_PORT": misplaced, "DB_MAX_OPEN_CONNS": misplaced}, want: []string{"3 settings", "SECURE", "METRICS_PORT", "DB_MAX_OPEN_CONNS"}},
		"every contradiction at once":      {flags: map[string]string{"tls-cert": "c", "key-poll-interval": "3s"}, want: []string{"2 settings", "--tls-key", "--key-poll-interval"}},
		"a namespace in the wrong letters": {flags: map[string]string{"namespace": "Abc"}, want: []string{"--namespace (NAMESPACE)"}},
		"a gateway in the wrong letters":   {flags: map[string]string{"gateway-name": "Abc"}, want: []string{"--gateway-name (GATEWAY_NAME)"}},
		"a UID with a line break":          {flags: map[string]string{"tenant-uid": "a\nb"}, want: []string{"--tenant-uid (TENANT_UID)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Input{Flags: tc.flags, Environment: tc.environment})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message does not say %q:\n%v", want, err)
				}
			}
			if strings.Contains(strings.ToLower(err.Error()), misplaced) {
				t.Errorf("message repeats the value:\n%v", err)
			}
		})
	}
}

// No setting takes nonsense silently, and no message shows it.
func TestNonsenseIsRefusedForEverySettingThatIsNoText(t *testing.T) {
	t.Parallel()
	for _, s := range config.Settings() {
		if s.Kind == "text" || s.Kind == "list" {
			continue
		}
		for _, value := range []string{misplaced, " ", "1e99", "-5", "true!", "９"} {
			_, err := config.Load(config.Input{Environment: map[string]string{s.Env: value}})
			if err == nil || !strings.Contains(err.Error(), s.Env) || strings.Contains(err.Error(), misplaced) {
				t.Errorf("%s=%q: %v", s.Env, value, err)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags       map[string]string
		environment map[string]string
		want        []string // Beginnings.
	}{
		"removed variables": {environment: map[string]string{"AITENANT_NAME": misplaced, "AITENANT_NAMESPACE": misplaced}, want: []string{
			"AITENANT_NAME is set but has no effect", "AITENANT_NAMESPACE is set but has no effect",
		}},
		"a URL in the environment": {environment: map[string]string{"DB_CONNECTION_URL": misplaced}, want: []string{"DB_CONNECTION_URL is set but has no effect"}},
		"a slip of the pen":        {environment: map[string]string{"DB_MAX_OPEN_CONN": misplaced}, want: []string{"DB_MAX_OPEN_CONN is set but is no setting"}},
		"variables of others": {environment: map[string]string{
			"PATH": "x", "HOSTNAME": "x", "SSL_CERT_DIR": "x", "MAAS_API_SERVICE_HOST": "x", "MAAS_API_PORT": "x",
			"DB_SERVICE_HOST": "x", "DB_SERVICE_PORT_PG": "x", "DB_PORT": "x", "DB_PORT_5432_TCP_ADDR": "x", "GATEWAY_PORT_443_TCP": "x",
		}},
		"the old port":                {flags: map[string]string{"port": "1"}, want: []string{"--port (PORT) is deprecated"}},
		"a gateway nobody asks":       {flags: map[string]string{"probe-mode": "policy", "gateway-address": "g:1"}, want: []string{"--gateway-address (GATEWAY_ADDRESS) has no effect"}},
		"names of no certificate":     {flags: map[string]string{"tls-self-signed-names": "a"}, want: []string{"--tls-self-signed-names (TLS_SELF_SIGNED_NAMES) has no effect"}},
		"two certificates":            {flags: map[string]string{"tls-self-signed": "true", "tls-cert": "c", "tls-key": "k"}, want: []string{"--tls-self-signed (TLS_SELF_SIGNED) has no effect"}},
		"a switch that opens a gate":  {flags: map[string]string{"allow-gateway-marked-internal": "true"}, want: []string{"--allow-gateway-marked-internal"}},
		"nothing to be worried about": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := load(t, tc.flags, tc.environment).Warnings
			if len(got) != len(tc.want) {
				t.Fatalf("warnings %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) || strings.Contains(got[i], misplaced) {
					t.Errorf("warning %q, want %q…", got[i], tc.want[i])
				}
			}
		})
	}
}

func TestGiven(t *testing.T) {
	t.Parallel()
	got := load(t, map[string]string{"name": "a", "debug": "true"}, map[string]string{"NAMESPACE": "b"})
	if diff := cmp.Diff([]string{"debug", "name"}, got.Given(config.SourceFlag)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"namespace"}, got.Given(config.SourceEnvironment)); diff != "" {
		t.Error(diff)
	}
	words := slices.Sorted(maps.Keys(map[string]bool{config.SourceDefault.String(): true, config.SourceEnvironment.String(): true, config.SourceFlag.String(): true}))
	if diff := cmp.Diff([]string{"default", "environment", "flag"}, words); diff != "" {
		t.Error(diff)
	}
}

func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"the long scheme":   {"postgresql://u:p@h/d", "postgresql://u:p@h/d"},
		"the short scheme":  {"postgres://u:p@h/d", "postgres://u:p@h/d"},
		"white space":       {" postgres://u:p@h/d\n", "postgres://u:p@h/d"},
		"another database":  {"mysql://u:" + misplaced + "@h/d", ""},
		"no scheme":         {"u:" + misplaced + "@h/d", ""},
		"key and value":     {"host=h password=" + misplaced, ""},
		"nothing":           {"", ""},
		"nothing but space": {" \n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.DatabaseURL(tc.text)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && (strings.Contains(err.Error(), misplaced) || !strings.Contains(err.Error(), "invalid database URL")) {
				t.Errorf("message %v", err)
			}
		})
	}
}
