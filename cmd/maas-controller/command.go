// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

const longHelp = `maas-controller turns MaaSModelRefs, MaaSAuthPolicies and MaaSSubscriptions into the
Gateway API and Kuadrant objects that enforce them, and keeps their status.

It needs the CustomResourceDefinitions of maas.opendatahub.io. Those of KServe, Kuadrant
and Gateway API may be missing when it starts: it says so and goes on when they appear.`

// newCommand returns the command line. The given function runs the manager with a
// configuration that is valid and complete; logs go to the writer.
func newCommand(run func(context.Context, Config, io.Writer) error) *cobra.Command {
	config := DefaultConfig()
	cmd := &cobra.Command{
		Use:           "maas-controller",
		Short:         "The operator of Models as a Service",
		Long:          longHelp,
		Version:       version.Get().String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Validate(); err != nil {
				return err
			}
			return run(cmd.Context(), config, cmd.ErrOrStderr())
		},
	}
	bindFlags(cmd.Flags(), &config)
	return cmd
}

// bindFlags declares the flags, with what the configuration holds as defaults.
func bindFlags(f *pflag.FlagSet, c *Config) {
	f.SortFlags = true
	f.SetNormalizeFunc(normalizeName)
	f.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig, "path of a kubeconfig; default: the pod's own ServiceAccount, else $KUBECONFIG")

	f.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress, "address of the metrics endpoint; 0 switches it off")
	f.BoolVar(&c.MetricsSecure, "metrics-secure", c.MetricsSecure, "serve metrics over HTTPS to callers the API server authorises; false serves plain HTTP to everybody")
	f.StringVar(&c.HealthProbeBindAddress, "health-probe-bind-address", c.HealthProbeBindAddress, "address of /healthz and /readyz; 0 switches them off")
	f.StringVar(&c.PprofBindAddress, "pprof-bind-address", c.PprofBindAddress, "loopback address for CPU and memory profiles under /debug/pprof, for example 127.0.0.1:6060; 0 switches them off")
	f.BoolVar(&c.LeaderElect, "leader-elect", c.LeaderElect, "reconcile only while holding the lease, so that several replicas may run")

	f.BoolVar(&c.EnableWebhooks, "enable-webhooks", c.EnableWebhooks, "serve the admission webhooks; false where config/webhook is not installed, else the API server refuses what it cannot have checked")
	f.StringVar(&c.WebhookBindAddress, "webhook-bind-address", c.WebhookBindAddress, "address of the admission webhooks")
	f.StringVar(&c.WebhookCertDir, "webhook-cert-dir", c.WebhookCertDir, "directory with the serving certificate of the admission webhooks, tls.crt and tls.key, from Secret "+webhookSecret+"; a renewed one is taken up without a restart")
	f.StringVar(&c.WebhookCertSource, "webhook-cert-source", c.WebhookCertSource, "who fills that Secret: "+certsMounted+" for somebody else (OLM, OpenShift, cert-manager), "+certsOwn+" for this program, which then also renews it and tells the API server whom to trust")

	f.StringVar(&c.GatewayName, "gateway-name", c.GatewayName, "name of the default tenant's Gateway")
	f.StringVar(&c.GatewayNamespace, "gateway-namespace", c.GatewayNamespace, "namespace of Gateways")
	f.StringVar(&c.ControllerNamespace, "controller-namespace", c.ControllerNamespace, "namespace this program runs in")
	f.StringVar(&c.InfraNamespace, "infra-namespace", c.InfraNamespace, "namespace of maas-api; AUTO derives it from --controller-namespace, empty means the same namespace")
	f.StringVar(&c.SubscriptionNamespace, "maas-subscription-namespace", c.SubscriptionNamespace, "namespace of the default tenant: its subscriptions and auth policies")
	f.StringVar(&c.AITenantNamespace, "aitenant-namespace", c.AITenantNamespace, "namespace of AITenants")
	f.StringVar(&c.MonitoringNamespace, "monitoring-namespace", c.MonitoringNamespace, "namespace of the platform's monitoring, which may read the metrics of maas-api on OpenShift; empty: nobody else may")
	f.BoolVar(&c.Discovery, "enable-tenant-namespace-discovery", c.Discovery, "accept subscriptions and auth policies in every namespace labelled for a tenant, not only in the default tenant's")

	f.DurationVar(&c.MaintainInterval, "subscription-namespace-maintain-interval", c.MaintainInterval, "how often the namespaces of AITenants and of maas-api are looked after without an event")
	f.StringSliceVar(&c.AuthorinoNamespaces, "authorino-namespaces", c.AuthorinoNamespaces, "namespaces, separated by commas, from which Authorino may call maas-api")
	f.StringVar(&c.CertIssuerKind, "cert-issuer-kind", c.CertIssuerKind, "kind of the cert-manager issuer of maas-api's certificates, outside of OpenShift: "+strings.Join(issuerKinds(), ", "))
	f.StringVar(&c.CertIssuerName, "cert-issuer-name", c.CertIssuerName, "name of that issuer")
	f.StringVar(&c.GatewayCAFile, "gateway-ca-file", c.GatewayCAFile, "path, in the Pods of Gateways, of the authorities by which they verify the certificate of maas-api; empty: they do not verify it, because nothing mounts such a file there by itself")
	f.StringSliceVar(&c.Controllers, "controllers", c.Controllers, "controllers to run, separated by commas: * for all, -name leaves one out; they are "+strings.Join(selectable(), ", "))

	f.Int64Var(&c.MetadataCacheTTL, "metadata-cache-ttl", c.MetadataCacheTTL, "seconds for which the gateway caches the answers to key validation; 0 disables the cache")
	f.Int64Var(&c.AuthzCacheTTL, "authz-cache-ttl", c.AuthzCacheTTL, "seconds for which the gateway caches authorization decisions; never longer than --metadata-cache-ttl in effect")
	f.IntVar(&c.MaxConcurrentReconciles, "max-concurrent-reconciles", c.MaxConcurrentReconciles, "objects that the policy controllers work on at once, 1 to 10")

	f.StringVar(&c.Platform, "platform", c.Platform, "platform of the cluster: "+strings.Join(facts.Platforms(), ", "))
	f.StringVar(&c.Audience, "token-audience", c.Audience, "audience of the cluster's ServiceAccount tokens; default: asked of the cluster on OpenShift, else "+facts.DefaultAudience)

	f.StringVar(&c.LogLevel, "log-level", c.LogLevel, "least important messages to log: error, info, debug, or a verbosity from 0 to 10")
	for _, name := range []string{"observability-manifests-path", "usage-logs-manifest-path"} {
		f.String(name, "", "has no effect: templates are part of the program")
		_ = f.MarkDeprecated(name, "templates are part of the program") // The flag was just defined.
	}

	f.StringVar(&c.LogFormat, "log-format", c.LogFormat, "format of the log: json or text")
}

// normalizeName accepts the names that logging flags had in earlier releases.
func normalizeName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "zap-log-level":
		name = "log-level"
	case "zap-encoder":
		name = "log-format"
	}
	return pflag.NormalizedName(name)
}

// describe makes one error of at least one problem; several stand on a line each.
func describe(problems []string) error {
	if len(problems) == 1 {
		return fmt.Errorf("%s", problems[0])
	}
	return fmt.Errorf("%d flags need another value:\n  %s", len(problems), strings.Join(problems, "\n  "))
}
