// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// execute runs the command line and returns the configuration the manager would be
// started with, or nil when it would not be.
func execute(t *testing.T, args ...string) (*Config, string, error) {
	t.Helper()
	var started *Config
	cmd := newCommand(func(_ context.Context, c Config, _ io.Writer) error {
		started = &c
		return nil
	})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return started, out.String(), err
}

func TestDefaultsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	got, _, err := execute(t)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		MetricsBindAddress: ":8443", MetricsSecure: true, HealthProbeBindAddress: ":8081", PprofBindAddress: "0",
		EnableWebhooks: true, WebhookBindAddress: ":9443", WebhookCertDir: "/tmp/k8s-webhook-server/serving-certs", WebhookCertSource: "mounted",
		GatewayName: "maas-default-gateway", GatewayNamespace: "openshift-ingress",
		ControllerNamespace: "opendatahub", InfraNamespace: "AUTO", SubscriptionNamespace: "models-as-a-service",
		AITenantNamespace: "ai-tenants", MonitoringNamespace: "opendatahub",
		MaintainInterval: 30 * time.Second, DeletionTimeout: 10 * time.Minute,
		CertIssuerKind: "ClusterIssuer", CertIssuerName: "rhai-ca-issuer",
		AuthorinoNamespaces: []string{"kuadrant-system", "openshift-operators", "rh-connectivity-link"},
		Controllers:         []string{"*"},
		MetadataCacheTTL:    60, AuthzCacheTTL: 60, MaxConcurrentReconciles: 5,
		Platform: "auto", LogLevel: "info", LogFormat: "json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFlagsReachTheConfiguration(t *testing.T) {
	t.Parallel()
	got, _, err := execute(t,
		"--kubeconfig=k", "--metrics-bind-address=127.0.0.1:1", "--metrics-secure=false", "--health-probe-bind-address=0", "--pprof-bind-address=[::1]:0", "--leader-elect",
		"--gateway-name=g", "--gateway-namespace=gn", "--controller-namespace=cn", "--infra-namespace=", "--maas-subscription-namespace=sn",
		"--aitenant-namespace=an", "--monitoring-namespace=", "--enable-tenant-namespace-discovery",
		"--subscription-namespace-maintain-interval=1m", "--cert-issuer-kind=Issuer", "--cert-issuer-name=ci", "--authorino-namespaces=a,b",
		"--controllers=*,-priority", "--observability-manifests-path=o", "--usage-logs-manifest-path=u",
		"--metadata-cache-ttl=0", "--authz-cache-ttl=1", "--max-concurrent-reconciles=7",
		"--enable-webhooks=false", "--webhook-bind-address=127.0.0.1:2", "--webhook-cert-dir=c", "--webhook-cert-source=own",
		"--platform=kubernetes", "--token-audience=https://a", "--zap-log-level=debug", "--zap-encoder=console")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Kubeconfig: "k", MetricsBindAddress: "127.0.0.1:1", HealthProbeBindAddress: "0", PprofBindAddress: "[::1]:0", LeaderElect: true,
		WebhookBindAddress: "127.0.0.1:2", WebhookCertDir: "c", WebhookCertSource: "own",
		GatewayName: "g", GatewayNamespace: "gn", ControllerNamespace: "cn", SubscriptionNamespace: "sn", AITenantNamespace: "an", Discovery: true,
		MaintainInterval: time.Minute, DeletionTimeout: 10 * time.Minute, CertIssuerKind: "Issuer", CertIssuerName: "ci",
		AuthorinoNamespaces: []string{"a", "b"}, Controllers: []string{"*", "-priority"},
		AuthzCacheTTL: 1, MaxConcurrentReconciles: 7, Platform: "kubernetes", Audience: "https://a", LogLevel: "debug", LogFormat: "console",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrongFlagsAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"empty gateway name":           {[]string{"--gateway-name="}, []string{"--gateway-name is empty", "name a Gateway"}},
		"empty gateway namespace":      {[]string{"--gateway-namespace="}, []string{"--gateway-namespace is empty", "name a namespace"}},
		"blank controller namespace":   {[]string{"--controller-namespace=  "}, []string{"--controller-namespace is blank"}},
		"empty tenant namespace":       {[]string{"--maas-subscription-namespace="}, []string{"--maas-subscription-namespace is empty"}},
		"blank AITenant namespace":     {[]string{"--aitenant-namespace=\t"}, []string{"--aitenant-namespace is blank"}},
		"blank infra namespace":        {[]string{"--infra-namespace= "}, []string{"--infra-namespace is blank", "AUTO", "empty value"}},
		"auto in lower case":           {[]string{"--infra-namespace=Auto"}, []string{`--infra-namespace is "Auto"`, "AUTO"}},
		"blank monitoring namespace":   {[]string{"--monitoring-namespace= "}, []string{"--monitoring-namespace is blank", "empty value"}},
		"a name no namespace can have": {[]string{"--aitenant-namespace=A_B"}, []string{`--aitenant-namespace is "A_B"`, "lower case"}},
		"negative metadata TTL":        {[]string{"--metadata-cache-ttl=-1"}, []string{"--metadata-cache-ttl is -1", "use 0"}},
		"negative authorization TTL":   {[]string{"--authz-cache-ttl=-5"}, []string{"--authz-cache-ttl is -5", "use 0"}},
		"an interval of nothing":       {[]string{"--subscription-namespace-maintain-interval=0s"}, []string{"--subscription-namespace-maintain-interval is 0s", "30s"}},
		"an unknown kind of issuer":    {[]string{"--cert-issuer-kind=Vault"}, []string{`--cert-issuer-kind is "Vault"`, "ClusterIssuer, Issuer"}},
		"an issuer without a name":     {[]string{"--cert-issuer-name="}, []string{`--cert-issuer-name is ""`}},
		"no place for Authorino":       {[]string{"--authorino-namespaces="}, []string{"--authorino-namespaces is empty"}},
		"an unknown controller":        {[]string{"--controllers=*,-priorities"}, []string{`names "priorities"`, "modelref", "* for all"}},
		"no controller at all":         {[]string{"--controllers=-priority"}, []string{"selects no controller"}},
		"unknown platform":             {[]string{"--platform=xks"}, []string{"--platform", `"xks"`, "openshift, kubernetes, auto"}},
		"metrics address without port": {[]string{"--metrics-bind-address=localhost"}, []string{`--metrics-bind-address is "localhost"`, ":8443"}},
		"profiles for everybody":       {[]string{"--pprof-bind-address=:6060"}, []string{`--pprof-bind-address is ":6060"`, "127.0.0.1:6060"}},
		"profiles on an interface":     {[]string{"--pprof-bind-address=10.0.0.1:6060"}, []string{`--pprof-bind-address is "10.0.0.1:6060"`, "loopback"}},
		"profiles without a port":      {[]string{"--pprof-bind-address=localhost"}, []string{"--pprof-bind-address", "[host]:port"}},
		"probe port out of range":      {[]string{"--health-probe-bind-address=:70000"}, []string{`--health-probe-bind-address is ":70000"`}},
		"webhooks without a port":      {[]string{"--webhook-bind-address=localhost"}, []string{`--webhook-bind-address is "localhost"`, ":9443"}},
		"webhooks at any port":         {[]string{"--webhook-bind-address=:0"}, []string{`--webhook-bind-address is ":0"`, "from 1 to 65535"}},
		"webhooks at no address":       {[]string{"--webhook-bind-address=0"}, []string{`--webhook-bind-address is "0"`, "--enable-webhooks=false"}},
		"webhooks without certificate": {[]string{"--webhook-cert-dir="}, []string{"--webhook-cert-dir is empty", "tls.crt", "maas-controller-webhook-cert", "--enable-webhooks=false"}},
		"webhooks from nowhere":        {[]string{"--webhook-cert-source=file"}, []string{`--webhook-cert-source is "file"`, "mounted, own"}},
		"audience with white space":    {[]string{"--token-audience=a b"}, []string{"--token-audience contains white space"}},
		"unknown log level":            {[]string{"--log-level=loud"}, []string{`--log-level is "loud"`, "error, info, debug"}},
		"verbosity out of range":       {[]string{"--log-level=11"}, []string{`--log-level is "11"`}},
		"unknown log format":           {[]string{"--log-format=xml"}, []string{`--log-format is "xml"`, "json or text"}},
		"all problems at once":         {[]string{"--gateway-name=", "--metadata-cache-ttl=-1"}, []string{"2 flags", "--gateway-name", "--metadata-cache-ttl"}},
		"an unknown flag":              {[]string{"--gateway=x"}, []string{"unknown flag: --gateway"}},
		"a stray argument":             {[]string{"start"}, []string{"start"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, _, err := execute(t, tc.args...)
			if err == nil || started != nil {
				t.Fatalf("started with %+v, err = %v", started, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestWebhooksThatAreOffNeedNothing(t *testing.T) {
	t.Parallel()
	c, _, err := execute(t, "--enable-webhooks=false", "--webhook-bind-address=", "--webhook-cert-dir=")
	if err != nil {
		t.Fatal(err)
	}
	if server, err := webhookServer(*c, newTLSParameters()); err != nil || server != nil {
		t.Errorf("server %v, err = %v", server, err)
	}
}

func TestAMissingCertificateIsNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.WebhookCertDir = t.TempDir()
	_, err := webhookServer(c, newTLSParameters())
	if err == nil {
		t.Fatal("the webhooks start without a certificate")
	}
	for _, want := range []string{"--webhook-cert-dir", c.WebhookCertDir, "tls.crt", "Secret maas-controller-webhook-cert", "--enable-webhooks=false"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args          []string
		wantInfra     string
		wantAuthz     int64
		wantConcurr   int
		wantCorrected []string
	}{
		"Open Data Hub": {nil, "odh-ai-gateway-infra", 60, 5, nil},
		"OpenShift AI":  {[]string{"--controller-namespace=redhat-ods-applications"}, "redhat-ai-gateway-infra", 60, 5, nil},
		"another controller namespace stands alone": {[]string{"--controller-namespace=maas"}, "maas", 60, 5, nil},
		"no separation": {[]string{"--infra-namespace="}, "opendatahub", 60, 5, nil},
		"a namespace of the administrator's choice": {[]string{"--infra-namespace=mine"}, "mine", 60, 5, nil},
		"the authorization cache follows the metadata cache": {
			[]string{"--authz-cache-ttl=90"}, "odh-ai-gateway-infra", 60, 5, []string{"--authz-cache-ttl"},
		},
		"a shorter authorization cache stays": {[]string{"--authz-cache-ttl=10"}, "odh-ai-gateway-infra", 10, 5, nil},
		"it stays shorter than a longer metadata cache (9.4.67)": {
			[]string{"--metadata-cache-ttl=300", "--authz-cache-ttl=60"}, "odh-ai-gateway-infra", 60, 5, nil,
		},
		"it is never longer than the metadata cache (9.4.67)": {
			[]string{"--metadata-cache-ttl=60", "--authz-cache-ttl=300"}, "odh-ai-gateway-infra", 60, 5, []string{"--authz-cache-ttl"},
		},
		"too little concurrency": {[]string{"--max-concurrent-reconciles=0"}, "odh-ai-gateway-infra", 60, 1, []string{"--max-concurrent-reconciles"}},
		"too much concurrency":   {[]string{"--max-concurrent-reconciles=99"}, "odh-ai-gateway-infra", 60, 10, []string{"--max-concurrent-reconciles"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, _, err := execute(t, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			got, notes := given.Settled()
			if got.InfraNamespace != tc.wantInfra || got.AuthzCacheTTL != tc.wantAuthz || got.MaxConcurrentReconciles != tc.wantConcurr {
				t.Errorf("infra %q, authz %d, concurrency %d", got.InfraNamespace, got.AuthzCacheTTL, got.MaxConcurrentReconciles)
			}
			if len(notes) != len(tc.wantCorrected) {
				t.Fatalf("notes = %q", notes)
			}
			for i, want := range tc.wantCorrected {
				if !strings.Contains(notes[i], want) {
					t.Errorf("note %q does not name %s", notes[i], want)
				}
			}
		})
	}
}

func TestConfigurationReachesTheParts(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.Discovery = true
	c, _ = c.Settled()
	if got := c.tenancy(); got.Gateway.String() != "openshift-ingress/maas-default-gateway" || got.DefaultNamespace != "models-as-a-service" ||
		got.AITenantNamespace != "ai-tenants" || !got.Discovery {
		t.Errorf("tenancy = %+v", got)
	}
	if got := c.policies("https://audience"); got.InfraNamespace != "odh-ai-gateway-infra" || got.Audience != "https://audience" ||
		got.MetadataCacheTTL != 60 || got.AuthorizationCacheTTL != 60 {
		t.Errorf("policies = %+v", got)
	}
}

func TestHelpVersionAndCompletion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"help lists the flags":    {[]string{"--help"}, "--maas-subscription-namespace"},
		"version names the build": {[]string{"--version"}, "maas-controller version "},
		"completion for bash":     {[]string{"completion", "bash"}, "bash completion"},
		"completion for zsh":      {[]string{"completion", "zsh"}, "#compdef maas-controller"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, out, err := execute(t, tc.args...)
			if err != nil || started != nil || !strings.Contains(out, tc.want) {
				t.Errorf("started %v, err = %v, output:\n%s", started, err, out)
			}
		})
	}
}

// Row E-23 of platform.md.
func TestTheDeletionTimeoutOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for text, tc := range map[string]struct {
		want  time.Duration
		notes int
	}{
		"":               {want: 10 * time.Minute},
		"5m":             {want: 5 * time.Minute},
		"0s":             {want: 0},
		"not-a-duration": {want: 10 * time.Minute, notes: 1},
		"-3m":            {want: 10 * time.Minute, notes: 1},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			notes := c.environment(func(name string) (string, bool) { return text, name == deletionTimeoutVariable && text != "" })
			if c.DeletionTimeout != tc.want || len(notes) != tc.notes {
				t.Errorf("timeout %s, notes %q", c.DeletionTimeout, notes)
			}
		})
	}
}

func TestSelectedControllers(t *testing.T) {
	t.Parallel()
	for entries, want := range map[string]bool{
		"*": true, "priority": true, "modelref": false, "*,-priority": false, "-priority,*": false, "*,priority": true, "-modelref,*": true, "priority,-priority": false,
	} {
		if got := selected(strings.Split(entries, ","), "priority"); got != want {
			t.Errorf("selected(%q) = %t", entries, got)
		}
	}
}
