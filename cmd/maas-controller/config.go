// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

const (
	// infraAuto derives the infrastructure namespace from the controller's.
	infraAuto = "AUTO"
	// disabled, as an address, switches an endpoint off.
	disabled = "0"

	minConcurrency = 1
	maxConcurrency = 10
)

// Config is what the manager is started with. Its fields are the flags; nothing
// else is read from outside.
type Config struct {
	Kubeconfig             string
	MetricsBindAddress     string
	MetricsSecure          bool
	HealthProbeBindAddress string
	PprofBindAddress       string
	LeaderElect            bool
	// EnableWebhooks serves the admission webhooks at WebhookBindAddress with the
	// certificate in WebhookCertDir.
	EnableWebhooks     bool
	WebhookBindAddress string
	WebhookCertDir     string
	// WebhookCertSource says who makes that certificate, one of certSources.
	WebhookCertSource string

	GatewayName           string
	GatewayNamespace      string
	ControllerNamespace   string
	InfraNamespace        string
	SubscriptionNamespace string
	AITenantNamespace     string
	MonitoringNamespace   string
	Discovery             bool
	// MaintainInterval is how often namespaces are looked after without an event.
	MaintainInterval time.Duration
	// DeletionTimeout is how long the deletion of an AITenant may take before it is
	// forced; 0 means for ever. From the environment.
	DeletionTimeout time.Duration
	// CertIssuerKind and CertIssuerName are the cert-manager issuer of maas-api's
	// certificates, outside of OpenShift.
	CertIssuerKind string
	CertIssuerName string
	// GatewayCAFile is where the Pods of Gateways have the authorities by which they
	// verify maas-api; empty: they do not.
	GatewayCAFile string
	// AuthorinoNamespaces are where Authorino may run.
	AuthorinoNamespaces []string
	// Controllers chooses the controllers to run, see selected.
	Controllers []string

	// MetadataCacheTTL and AuthzCacheTTL are in seconds.
	MetadataCacheTTL        int64
	AuthzCacheTTL           int64
	MaxConcurrentReconciles int

	Platform string
	Audience string

	LogLevel  string
	LogFormat string
}

// DefaultConfig holds the defaults of all flags.
func DefaultConfig() Config {
	return Config{
		MetricsBindAddress:      ":8443",
		MetricsSecure:           true,
		HealthProbeBindAddress:  ":8081",
		PprofBindAddress:        disabled,
		EnableWebhooks:          true,
		WebhookBindAddress:      ":9443",
		WebhookCertDir:          "/tmp/k8s-webhook-server/serving-certs",
		WebhookCertSource:       certsMounted,
		GatewayName:             "maas-default-gateway",
		GatewayNamespace:        "openshift-ingress",
		ControllerNamespace:     "opendatahub",
		InfraNamespace:          infraAuto,
		SubscriptionNamespace:   v1alpha1.DefaultAITenantName,
		AITenantNamespace:       "ai-tenants",
		MonitoringNamespace:     "opendatahub",
		MaintainInterval:        30 * time.Second,
		DeletionTimeout:         defaultDeletionTimeout,
		CertIssuerKind:          issuerKinds()[0],
		CertIssuerName:          "rhai-ca-issuer",
		AuthorinoNamespaces:     []string{"kuadrant-system", "openshift-operators", "rh-connectivity-link"},
		Controllers:             []string{everyController},
		MetadataCacheTTL:        60,
		AuthzCacheTTL:           60,
		MaxConcurrentReconciles: 5,
		Platform:                string(facts.Auto),
		LogLevel:                levelInfo,
		LogFormat:               formatJSON,
	}
}

// Validate returns every problem at once, each with the flag and what to do.
func (c Config) Validate() error {
	var problems []string
	note := func(flag, problem string) {
		if problem != "" {
			problems = append(problems, "--"+flag+" "+problem)
		}
	}
	note("gateway-name", nameProblem(c.GatewayName, "a Gateway"))
	for _, f := range []struct{ flag, value string }{
		{"gateway-namespace", c.GatewayNamespace},
		{"controller-namespace", c.ControllerNamespace},
		{"maas-subscription-namespace", c.SubscriptionNamespace},
		{"aitenant-namespace", c.AITenantNamespace},
	} {
		note(f.flag, nameProblem(f.value, "a namespace"))
	}
	if c.InfraNamespace != "" && c.InfraNamespace != infraAuto {
		if problem := nameProblem(c.InfraNamespace, "a namespace"); problem != "" {
			note("infra-namespace", problem+"; use AUTO to derive it, or an empty value for the controller's own namespace")
		}
	}
	if c.MonitoringNamespace != "" {
		if problem := nameProblem(c.MonitoringNamespace, "a namespace"); problem != "" {
			note("monitoring-namespace", problem+"; use an empty value to leave observability out")
		}
	}
	c.noteTenants(note)
	note("metrics-bind-address", addressProblem(c.MetricsBindAddress))
	note("health-probe-bind-address", addressProblem(c.HealthProbeBindAddress))
	if c.EnableWebhooks {
		note("webhook-bind-address", webhookAddressProblem(c.WebhookBindAddress))
		note("webhook-cert-dir", certDirProblem(c.WebhookCertDir))
		note("webhook-cert-source", choiceProblem(c.WebhookCertSource, certSources()))
	}
	note("pprof-bind-address", loopbackProblem(c.PprofBindAddress))
	note("metadata-cache-ttl", secondsProblem(c.MetadataCacheTTL))
	note("authz-cache-ttl", secondsProblem(c.AuthzCacheTTL))
	if _, err := facts.ParsePlatform(c.Platform); err != nil {
		note("platform", fmt.Sprintf("%v: leave it out to have it detected", err))
	}
	if strings.ContainsAny(c.Audience, " \t\r\n") {
		note("token-audience", "contains white space: give one audience, or leave it out to have it detected")
	}
	if _, err := parseLevel(c.LogLevel); err != nil {
		note("log-level", err.Error())
	}
	if _, err := parseFormat(c.LogFormat); err != nil {
		note("log-format", err.Error())
	}
	if len(problems) > 0 {
		return describe(problems)
	}
	return nil
}

// nameProblem says what is wrong with the name of an object, or nothing.
func nameProblem(value, what string) string {
	switch {
	case value == "":
		return "is empty: name " + what
	case strings.TrimSpace(value) == "":
		return "is blank: name " + what
	}
	if wrong := validation.IsDNS1123Label(value); len(wrong) > 0 {
		return fmt.Sprintf("is %q, which cannot be the name of %s: %s", value, what, wrong[0])
	}
	return ""
}

// namesProblem is the first problem of a list of namespaces.
func namesProblem(values []string, what string) string {
	for _, value := range values {
		if problem := nameProblem(value, what); problem != "" {
			return problem
		}
	}
	if len(values) == 0 {
		return "is empty: name " + what
	}
	return ""
}

// noteTenants notes what is wrong with the settings of tenants and of what runs for
// them.
func (c Config) noteTenants(note func(flag, problem string)) {
	note("subscription-namespace-maintain-interval", intervalProblem(c.MaintainInterval))
	note("cert-issuer-kind", choiceProblem(c.CertIssuerKind, issuerKinds()))
	note("cert-issuer-name", subdomainProblem(c.CertIssuerName, "an issuer"))
	note("authorino-namespaces", namesProblem(c.AuthorinoNamespaces, "the namespace Authorino runs in"))
	note("controllers", selectionProblem(c.Controllers))
}

// issuerKinds are the kinds of cert-manager issuers, the usual one first.
func issuerKinds() []string { return []string{"ClusterIssuer", "Issuer"} }

func choiceProblem(value string, choices []string) string {
	if slices.Contains(choices, value) {
		return ""
	}
	return fmt.Sprintf("is %q: use one of %s", value, strings.Join(choices, ", "))
}

func subdomainProblem(value, what string) string {
	if wrong := validation.IsDNS1123Subdomain(value); len(wrong) > 0 {
		return fmt.Sprintf("is %q, which cannot be the name of %s: %s", value, what, wrong[0])
	}
	return ""
}

func intervalProblem(value time.Duration) string {
	if value <= 0 {
		return fmt.Sprintf("is %s: use a positive duration, for example 30s", value)
	}
	return ""
}

func addressProblem(value string) string {
	if value == disabled {
		return ""
	}
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Sprintf("is %q: use [host]:port, for example :8443, or %s to switch it off", value, disabled)
	}
	return ""
}

// loopbackProblem keeps an endpoint without authentication off the network.
func loopbackProblem(value string) string {
	if value == disabled {
		return ""
	}
	if problem := addressProblem(value); problem != "" {
		return problem
	}
	host, _, _ := net.SplitHostPort(value) // It was split just now.
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Sprintf("is %q, which others can reach: profiles are served to everybody who asks, so use a loopback address, for example 127.0.0.1:6060", value)
	}
	return ""
}

func secondsProblem(value int64) string {
	if value < 0 {
		return fmt.Sprintf("is %d: use 0 to disable the cache, or a positive number of seconds", value)
	}
	return ""
}

// Settled returns the configuration with everything derived that follows from it,
// and what an administrator should hear about it. The configuration must be valid.
func (c Config) Settled() (Config, []string) {
	var notes []string
	c.InfraNamespace = infraNamespace(c.InfraNamespace, c.ControllerNamespace)
	if c.AuthzCacheTTL > c.MetadataCacheTTL {
		notes = append(notes, fmt.Sprintf("--authz-cache-ttl is %d, longer than --metadata-cache-ttl: using %d", c.AuthzCacheTTL, c.MetadataCacheTTL))
		c.AuthzCacheTTL = c.MetadataCacheTTL
	}
	if clamped := min(max(c.MaxConcurrentReconciles, minConcurrency), maxConcurrency); clamped != c.MaxConcurrentReconciles {
		notes = append(notes, fmt.Sprintf("--max-concurrent-reconciles is %d, outside %d to %d: using %d", c.MaxConcurrentReconciles, minConcurrency, maxConcurrency, clamped))
		c.MaxConcurrentReconciles = clamped
	}
	return c, notes
}

// infraNamespace is where maas-api runs. The two well-known controller namespaces
// have one of their own beside them.
func infraNamespace(value, controller string) string {
	if value == "" {
		return controller
	}
	if value != infraAuto {
		return value
	}
	switch controller {
	case "opendatahub":
		return "odh-ai-gateway-infra"
	case "redhat-ods-applications":
		return "redhat-ai-gateway-infra"
	default:
		return controller
	}
}

// tenancy is the part of the configuration that tells tenants apart.
func (c Config) tenancy() tenancy.Settings {
	return tenancy.Settings{
		Gateway:           types.NamespacedName{Namespace: c.GatewayNamespace, Name: c.GatewayName},
		DefaultNamespace:  c.SubscriptionNamespace,
		AITenantNamespace: c.AITenantNamespace,
		Discovery:         c.Discovery,
	}
}

// policies is the part of the configuration that generated policies depend on.
func (c Config) policies(audience string) model.Settings {
	return model.Settings{
		InfraNamespace:        c.InfraNamespace,
		Audience:              audience,
		MetadataCacheTTL:      c.MetadataCacheTTL,
		AuthorizationCacheTTL: c.AuthzCacheTTL,
	}
}
