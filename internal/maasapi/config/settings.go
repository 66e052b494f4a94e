// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"net/netip"
	"time"
)

const maxPort = 65535

func general() []Setting {
	return []Setting{
		{
			Flag: "name", Env: "INSTANCE_NAME", Kind: kindText, Group: GroupGeneral,
			Usage: "name of this instance, the organisation of a self-signed certificate; default: --gateway-name",
			parse: text(func(c *Config) *string { return &c.InstanceName }),
		},
		{
			Flag: "namespace", Env: "NAMESPACE", Default: "maas-api", Kind: kindText, Group: GroupGeneral, keepEmpty: true,
			Usage: "namespace of this pod, where Secret " + DatabaseSecret + " is read",
			parse: nonBlank(func(c *Config) *string { return &c.Namespace }),
		},
		{
			Flag: "tenant-name", Env: "TENANT_NAME", Default: DefaultTenant, Kind: kindText, Group: GroupGeneral, keepEmpty: true,
			Usage: "tenant that everything is scoped to",
			parse: nonBlank(func(c *Config) *string { return &c.TenantName }),
		},
		{
			Flag: "tenant-uid", Env: "TENANT_UID", Kind: kindText, Group: GroupGeneral,
			Usage: "UID of the tenant's object: keys of an earlier tenant of the same name become invalid; default: tenants of one name are one",
			parse: text(func(c *Config) *string { return &c.TenantUID }),
		},
		{
			Flag: "maas-subscription-namespace", Env: "MAAS_SUBSCRIPTION_NAMESPACE", Default: DefaultTenant, Kind: kindText, Group: GroupGeneral, keepEmpty: true,
			Usage: "namespace of the tenant's subscriptions and auth policies, and of the check who is an administrator",
			parse: nonBlank(func(c *Config) *string { return &c.SubscriptionNamespace }),
		},
		{
			Flag: "kubeconfig", Env: "KUBECONFIG", Kind: kindText, Group: GroupGeneral,
			Usage: "path of a kubeconfig; default: $HOME/.kube/config if it exists, else the pod's own ServiceAccount",
			parse: text(func(c *Config) *string { return &c.Kubeconfig }),
		},
		{
			Flag: "start-timeout", Env: "START_TIMEOUT", Default: "2m", Kind: kindDuration, Group: GroupGeneral,
			Usage: "how long to wait at start for the database and for the Kubernetes API before giving up",
			parse: duration(func(c *Config) *time.Duration { return &c.StartTimeout }, time.Second, time.Hour),
		},
		{
			Flag: "snapshot-max-age", Env: "SNAPSHOT_MAX_AGE", Default: "0s", Kind: kindDuration, Group: GroupGeneral,
			Usage: "how long the last contact with the Kubernetes API may be ago before everybody is refused; 0 sets no bound, else at least 30s",
			parse: duration(func(c *Config) *time.Duration { return &c.SnapshotMaxAge }, 0, 24*time.Hour),
		},
		{
			Flag: "debug", Env: "DEBUG_MODE", Default: "false", Kind: kindBool, Group: GroupGeneral,
			Usage: "log at debug level unless --log-level is given, and answer cross-origin requests of pages on localhost",
			parse: boolean(func(c *Config) *bool { return &c.Debug }),
		},
		{
			Flag: "log-level", Env: "LOG_LEVEL", Default: "info", Kind: kindText, Group: GroupGeneral,
			Usage: "least important records to log: error, warn, info or debug",
			parse: choice(func(c *Config) *string { return &c.LogLevel }, "error", "warn", "info", "debug"),
		},
		{
			Flag: "log-format", Env: "LOG_FORMAT", Default: "json", Kind: kindText, Group: GroupGeneral,
			Usage: "format of the log on standard output: json or text",
			parse: choice(func(c *Config) *string { return &c.LogFormat }, "json", "text"),
		},
	}
}

func listeners() []Setting {
	return []Setting{
		{
			Flag: "address", Env: "ADDRESS", Kind: kindText, Group: GroupListeners,
			Usage: "address of the API; default: " + addressHTTPS + " with HTTPS, else " + addressHTTP,
			parse: text(func(c *Config) *string { return &c.Address }),
		},
		{
			Flag: "internal-address", Env: "INTERNAL_ADDRESS", Kind: kindText, Group: GroupListeners,
			Usage: "address of a listener of their own for /internal paths, which --address then never serves; default: they share --address",
			parse: text(func(c *Config) *string { return &c.InternalAddress }),
		},
		{
			Flag: "allow-gateway-marked-internal", Env: "ALLOW_GATEWAY_MARKED_INTERNAL", Default: "false", Kind: kindBool, Group: GroupListeners,
			Usage: "serve /internal paths also to requests with headers that a gateway adds; only for meshes whose proxies add them to every request, and with network policies that keep the gateway away",
			parse: boolean(func(c *Config) *bool { return &c.AllowGatewayMarked }),
		},
		{
			Flag: "metrics-port", Env: "METRICS_PORT", Default: "9090", Kind: kindInt, Group: GroupListeners,
			Usage: "port of metrics and health, on all interfaces",
			parse: integer(func(c *Config) *int { return &c.MetricsPort }, 1, maxPort),
		},
		{
			Flag: "metrics-address", Env: "METRICS_ADDRESS", Kind: kindText, Group: GroupListeners,
			Usage: "address of metrics and health; default: --metrics-port on all interfaces",
			parse: text(func(c *Config) *string { return &c.MetricsAddress }),
		},
		{
			Flag: "port", Env: "PORT", Kind: kindInt, Group: GroupListeners, Deprecated: "use --address",
			Usage: "port of the API without encryption",
			parse: integer(func(c *Config) *int { return &c.LegacyPort }, 1, maxPort),
		},
		{
			Flag: "trusted-proxies", Env: "TRUSTED_PROXIES", Kind: kindList, Group: GroupListeners,
			Usage: "addresses or networks, separated by commas, whose X-Forwarded-For the access log believes; default: none, the log shows the peer",
			parse: networks(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies }),
		},
	}
}

func lifecycle() []Setting {
	return []Setting{
		{
			Flag: "shutdown-drain", Env: "SHUTDOWN_DRAIN", Default: "5s", Kind: kindDuration, Group: GroupListeners,
			Usage: "how long to go on serving as not ready before the listeners close",
			parse: duration(func(c *Config) *time.Duration { return &c.ShutdownDrain }, 0, 5*time.Minute),
		},
		{
			Flag: "shutdown-timeout", Env: "SHUTDOWN_TIMEOUT", Default: "15s", Kind: kindDuration, Group: GroupListeners,
			Usage: "how long requests in flight may take once the listeners are closed",
			parse: duration(func(c *Config) *time.Duration { return &c.ShutdownTimeout }, time.Second, 10*time.Minute),
		},
	}
}

func encryption() []Setting {
	return []Setting{
		{
			Flag: "secure", Env: "SECURE", Default: "false", Kind: kindBool, Group: GroupTLS,
			Usage: "serve HTTPS; follows by itself from a certificate or from --tls-self-signed",
			parse: boolean(func(c *Config) *bool { return &c.Secure }),
		},
		{
			Flag: "tls-cert", Env: "TLS_CERT", Kind: kindText, Group: GroupTLS,
			Usage: "path of the certificate in PEM; a renewed one is taken up without a restart",
			parse: text(func(c *Config) *string { return &c.CertFile }),
		},
		{
			Flag: "tls-key", Env: "TLS_KEY", Kind: kindText, Group: GroupTLS,
			Usage: "path of the certificate's key in PEM",
			parse: text(func(c *Config) *string { return &c.KeyFile }),
		},
		{
			Flag: "tls-self-signed", Env: "TLS_SELF_SIGNED", Default: "false", Kind: kindBool, Group: GroupTLS,
			Usage: "make a certificate at start; without effect when a certificate is given",
			parse: boolean(func(c *Config) *bool { return &c.SelfSigned }),
		},
		{
			Flag: "tls-self-signed-names", Env: "TLS_SELF_SIGNED_NAMES", Kind: kindList, Group: GroupTLS,
			Usage: "names and addresses, separated by commas, that the self-signed certificate is for; default: localhost and the names of the tenant's Service",
			parse: words(func(c *Config) *[]string { return &c.SelfSignedFor }),
		},
		{
			Flag: "tls-min-version", Env: "TLS_MIN_VERSION", Default: "1.2", Kind: kindText, Group: GroupTLS,
			Usage: "least version of TLS, 1.2 or 1.3; a cluster's profile may demand more",
			parse: tlsVersion,
		},
		{
			Flag: "tls-profile", Env: "TLS_PROFILE", Default: string(TLSProfileAuto), Kind: kindText, Group: GroupTLS,
			Usage: "auto follows the TLS profile of an OpenShift cluster, off does not ask for it",
			parse: choice(func(c *Config) *TLSProfile { return &c.Profile }, TLSProfileAuto, TLSProfileOff),
		},
	}
}

func gateway() []Setting {
	return []Setting{
		{
			Flag: "gateway-name", Env: "GATEWAY_NAME", Default: "maas-default-gateway", Kind: kindText, Group: GroupGateway, keepEmpty: true,
			Usage: "name of the tenant's Gateway",
			parse: nonBlank(func(c *Config) *string { return &c.GatewayName }),
		},
		{
			Flag: "gateway-namespace", Env: "GATEWAY_NAMESPACE", Default: "openshift-ingress", Kind: kindText, Group: GroupGateway, keepEmpty: true,
			Usage: "namespace of the tenant's Gateway",
			parse: nonBlank(func(c *Config) *string { return &c.GatewayNamespace }),
		},
		{
			Flag: "gateway-address", Env: "GATEWAY_ADDRESS", Kind: kindText, Group: GroupGateway,
			Usage: "host:port that models are asked at; default: the Gateway's own Service",
			parse: text(func(c *Config) *string { return &c.GatewayAddress }),
		},
		{
			Flag: "gateway-ca-file", Env: "GATEWAY_CA_FILE", Kind: kindText, Group: GroupGateway,
			Usage: "path of further certificate authorities in PEM that the gateway's certificate may come from",
			parse: text(func(c *Config) *string { return &c.GatewayCAFile }),
		},
		{
			Flag: "probe-mode", Env: "PROBE_MODE", Default: string(ProbeModels), Kind: kindText, Group: GroupGateway,
			Usage: "probe asks each model with the caller's credential before it is listed, policy trusts the policies alone",
			parse: choice(func(c *Config) *ProbeMode { return &c.ProbeMode }, ProbeModels, ProbePolicy),
		},
		{
			Flag: "access-check-timeout-seconds", Env: "ACCESS_CHECK_TIMEOUT_SECONDS", Default: "15", Kind: kindInt, Group: GroupGateway,
			Usage: "seconds within which one listing asks its models",
			parse: seconds(func(c *Config) *time.Duration { return &c.AccessCheckTimeout }, 1, 600),
		},
		{
			Flag: "discovery-enable-http2", Env: "DISCOVERY_ENABLE_HTTP2", Default: "false", Kind: kindBool, Group: GroupGateway,
			Usage: "offer HTTP/2 to the gateway when models are asked",
			parse: boolean(func(c *Config) *bool { return &c.HTTP2 }),
		},
		{
			Flag: "sar-cache-max-size", Env: "SAR_CACHE_MAX_SIZE", Default: "8192", Kind: kindInt, Group: GroupGateway,
			Usage: "answers to remember of the check who is an administrator",
			parse: integer(func(c *Config) *int { return &c.AdminCacheSize }, 1, 1<<24),
		},
	}
}

func database() []Setting {
	return []Setting{
		{
			Flag: "database-url-file", Env: "DATABASE_URL_FILE", Kind: kindText, Group: GroupDatabase,
			Usage: "path of a file with the database URL; default: key " + DatabaseSecretKey + " of Secret " + DatabaseSecret,
			parse: text(func(c *Config) *string { return &c.DatabaseURLFile }),
		},
		{
			Flag: "db-max-open-conns", Env: "DB_MAX_OPEN_CONNS", Default: "25", Kind: kindInt, Group: GroupDatabase,
			Usage: "most connections to the database",
			parse: integer(func(c *Config) *int { return &c.MaxConns }, 2, 10000),
		},
		{
			Flag: "db-max-idle-conns", Env: "DB_MAX_IDLE_CONNS", Default: "5", Kind: kindInt, Group: GroupDatabase,
			Usage: "connections kept open while nothing uses them",
			parse: integer(func(c *Config) *int { return &c.MinConns }, 0, 10000),
		},
		{
			Flag: "db-conn-max-lifetime-seconds", Env: "DB_CONN_MAX_LIFETIME_SECONDS", Default: "300", Kind: kindInt, Group: GroupDatabase,
			Usage: "seconds after which a connection is replaced",
			parse: seconds(func(c *Config) *time.Duration { return &c.ConnMaxLifetime }, 1, math.MaxInt32),
		},
		{
			Flag: "db-statement-timeout", Env: "DB_STATEMENT_TIMEOUT", Default: "5s", Kind: kindDuration, Group: GroupDatabase,
			Usage: "how long one statement may take",
			parse: duration(func(c *Config) *time.Duration { return &c.StatementTimeout }, 10*time.Millisecond, 10*time.Minute),
		},
		{
			Flag: "db-acquire-timeout", Env: "DB_ACQUIRE_TIMEOUT", Default: "100ms", Kind: kindDuration, Group: GroupDatabase,
			Usage: "how long a look-up of a key may wait for a free connection",
			parse: duration(func(c *Config) *time.Duration { return &c.AcquireTimeout }, time.Millisecond, time.Minute),
		},
		{
			Flag: "database-grace", Env: "DATABASE_GRACE", Default: "30s", Kind: kindDuration, Group: GroupDatabase,
			Usage: "how long known keys stay valid while the database cannot be reached; 0 refuses them at once",
			parse: duration(func(c *Config) *time.Duration { return &c.DatabaseGrace }, 0, 24*time.Hour),
		},
	}
}

func keys() []Setting {
	return []Setting{
		{
			Flag: "api-key-max-expiration-days", Env: "API_KEY_MAX_EXPIRATION_DAYS", Default: "90", Kind: kindInt, Group: GroupKeys,
			Usage: "longest life of a key in days, and its life when the request names none",
			parse: integer(func(c *Config) *int { return &c.MaxExpirationDays }, 1, 36500),
		},
		{
			Flag: "api-key-deletion-retention-days", Env: "API_KEY_DELETION_RETENTION_DAYS", Default: "90", Kind: kindInt, Group: GroupKeys,
			Usage: "days after which the rows of keys that the deletion of a tenant invalidated are deleted",
			parse: integer(func(c *Config) *int { return &c.RetentionDays }, 1, 36500),
		},
		{
			Flag: "api-key-max-per-user", Env: "API_KEY_MAX_PER_USER", Default: "1000", Kind: kindInt, Group: GroupKeys,
			Usage: "most active keys of one user; 0 sets no bound",
			parse: integer(func(c *Config) *int { return &c.MaxPerUser }, 0, math.MaxInt32),
		},
		{
			Flag: "key-cache-max-entries", Env: "KEY_CACHE_MAX_ENTRIES", Default: "250000", Kind: kindInt, Group: GroupKeys,
			Usage: "most keys to hold in memory, about 350 bytes each; the others are looked up in the database when they are used",
			parse: integer(func(c *Config) *int { return &c.CacheMaxEntries }, 1, 1<<28),
		},
		{
			Flag: "key-cache-stale-after", Env: "KEY_CACHE_STALE_AFTER", Default: "2s", Kind: kindDuration, Group: GroupKeys,
			Usage: "age of the last successful poll at which keys in memory are no longer believed while the database answers",
			parse: duration(func(c *Config) *time.Duration { return &c.CacheStaleAfter }, 10*time.Millisecond, time.Minute),
		},
		{
			Flag: "key-poll-interval", Env: "KEY_POLL_INTERVAL", Default: "1s", Kind: kindDuration, Group: GroupKeys,
			Usage: "how often the database is asked for changed keys; a notification makes it sooner",
			parse: duration(func(c *Config) *time.Duration { return &c.PollInterval }, 10*time.Millisecond, time.Minute),
		},
		{
			Flag: "last-used-debounce-secs", Env: "LAST_USED_DEBOUNCE_SECS", Default: "60", Kind: kindInt, Group: GroupKeys,
			Usage: "least seconds between two recorded uses of one key; 0 records every interval",
			parse: seconds(func(c *Config) *time.Duration { return &c.LastUsedDebounce }, 0, 86400),
		},
		{
			Flag: "last-used-interval", Env: "LAST_USED_INTERVAL", Default: "5s", Kind: kindDuration, Group: GroupKeys,
			Usage: "how often uses of keys are written, all in one statement",
			parse: duration(func(c *Config) *time.Duration { return &c.LastUsedInterval }, 100*time.Millisecond, 10*time.Minute),
		},
	}
}

func tracing() []Setting {
	return []Setting{
		{
			Flag: "otel-exporter-otlp-endpoint", Env: "OTEL_EXPORTER_OTLP_ENDPOINT", Kind: kindText, Group: GroupTracing,
			Usage: "host:port or URL that takes spans over OTLP and gRPC; default: tracing is off",
			parse: text(func(c *Config) *string { return &c.Endpoint }),
		},
		{
			Flag: "otel-exporter-otlp-insecure", Env: "OTEL_EXPORTER_OTLP_INSECURE", Default: "false", Kind: kindBool, Group: GroupTracing,
			Usage: "send spans without encryption",
			parse: boolean(func(c *Config) *bool { return &c.Insecure }),
		},
		{
			Flag: "otel-traces-sample-rate", Env: "OTEL_TRACES_SAMPLE_RATE", Default: "1.0", Kind: kindNumber, Group: GroupTracing,
			Usage: "share of requests that are traced, 0 to 1; a caller's own decision wins",
			parse: ratio(func(c *Config) *float64 { return &c.SampleRate }),
		},
	}
}
