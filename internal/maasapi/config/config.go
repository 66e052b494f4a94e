// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"time"
)

// ProbeMode says how the listing of models makes sure that a caller may use them.
type ProbeMode string

const (
	// ProbeModels asks each model through the gateway with the caller's credential.
	ProbeModels ProbeMode = "probe"
	// ProbePolicy trusts the policies alone and asks no model.
	ProbePolicy ProbeMode = "policy"
)

// TLSProfile says where the parameters of TLS come from.
type TLSProfile string

const (
	// TLSProfileAuto follows the OpenShift cluster's profile where there is one.
	TLSProfileAuto TLSProfile = "auto"
	// TLSProfileOff asks no cluster: the minimum version alone counts.
	TLSProfileOff TLSProfile = "off"
)

// Config is what maas-api is started with. Its fields are documented by the
// settings of the same name: see [Settings].
type Config struct {
	General
	Listeners
	TLS
	Gateway
	Database
	Keys
	Tracing
}

// General says which instance this is and how it logs.
type General struct {
	InstanceName          string
	Namespace             string
	TenantName            string
	TenantUID             string
	SubscriptionNamespace string
	Kubeconfig            string
	StartTimeout          time.Duration
	SnapshotMaxAge        time.Duration // 0: no bound.
	Debug                 bool
	LogLevel              string
	LogFormat             string
}

// Listeners says where the service listens and how it stops.
type Listeners struct {
	Address         string
	InternalAddress string // Empty: internal paths are served on Address.
	MetricsAddress  string
	MetricsPort     int
	LegacyPort      int // 0: not given.
	// AllowGatewayMarked serves internal paths to requests that carry what a
	// gateway adds. Only for meshes whose side-cars add such headers everywhere.
	AllowGatewayMarked bool
	TrustedProxies     []netip.Prefix
	ShutdownDrain      time.Duration
	ShutdownTimeout    time.Duration
}

// TLS says how the API listeners encrypt.
type TLS struct {
	Secure        bool
	CertFile      string
	KeyFile       string
	SelfSigned    bool
	SelfSignedFor []string
	MinVersion    uint16
	Profile       TLSProfile
}

// Gateway names the gateway of the tenant and how models are asked through it.
type Gateway struct {
	GatewayName        string
	GatewayNamespace   string
	GatewayAddress     string // Empty: found through the gateway's Service.
	GatewayCAFile      string
	ProbeMode          ProbeMode
	AccessCheckTimeout time.Duration
	HTTP2              bool
	AdminCacheSize     int
}

// Database says how PostgreSQL is used.
type Database struct {
	DatabaseURLFile  string // Empty: Secret maas-db-config.
	MaxConns         int
	MinConns         int
	ConnMaxLifetime  time.Duration
	StatementTimeout time.Duration
	AcquireTimeout   time.Duration
	// DatabaseGrace is how long known keys stay valid while the database is gone.
	DatabaseGrace time.Duration
}

// Keys bounds API keys and the index that is held of them.
type Keys struct {
	MaxExpirationDays int
	RetentionDays     int
	MaxPerUser        int // 0: no bound.
	CacheMaxEntries   int
	CacheStaleAfter   time.Duration
	PollInterval      time.Duration
	LastUsedDebounce  time.Duration
	LastUsedInterval  time.Duration
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint   string // Empty: tracing is off.
	Insecure   bool
	SampleRate float64
}

// Legacy and fixed names that other programs rely on.
const (
	// DatabaseSecret and DatabaseSecretKey hold the database URL.
	DatabaseSecret    = "maas-db-config" //nolint:gosec // The name of a Secret, not its content.
	DatabaseSecretKey = "DB_CONNECTION_URL"
	// DefaultTenant is the tenant whose objects carry no suffix.
	DefaultTenant = "models-as-a-service"

	addressHTTPS = ":8443"
	addressHTTP  = ":8080"
)

// Retention returns the life of rows after a tenant was deleted.
func (k Keys) Retention() time.Duration {
	return time.Duration(k.RetentionDays) * 24 * time.Hour
}
