// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	maxTenantName    = 253
	leastSnapshotAge = 30 * time.Second
)

// check judges settings that were read, alone and against each other.
func (l *loader) check() {
	l.checkNames()
	l.checkTLS()
	l.checkAddresses()
	l.checkAmounts()
}

func (l *loader) checkNames() {
	for _, label := range []struct{ flag, value string }{
		{"namespace", l.config.Namespace},
		{"maas-subscription-namespace", l.config.SubscriptionNamespace},
		{"gateway-namespace", l.config.GatewayNamespace},
	} {
		if len(validation.IsDNS1123Label(label.value)) > 0 {
			l.problem(label.flag, "cannot be the name of a namespace: use lower-case letters, digits and dashes, 63 at most")
		}
	}
	if len(validation.IsDNS1123Subdomain(l.config.GatewayName)) > 0 {
		l.problem("gateway-name", "cannot be the name of a Gateway: use lower-case letters, digits, dashes and dots")
	}
	if len(l.config.TenantName) > maxTenantName || strings.ContainsFunc(l.config.TenantName, control) {
		l.problem("tenant-name", "cannot be the name of a tenant: use 253 bytes at most, without control characters")
	}
	if strings.ContainsFunc(l.config.TenantUID, control) || len(l.config.TenantUID) > maxTenantName {
		l.problem("tenant-uid", "cannot be a UID: use 253 bytes at most, without control characters")
	}
}

func control(r rune) bool {
	return r < ' ' || r == 0x7f || r == '\uFFFD'
}

func (l *loader) checkTLS() {
	c := &l.config
	if (c.CertFile == "") != (c.KeyFile == "") {
		l.conflict("tls-cert", "tls-key", "must be given together")
	}
	material, flag := c.SelfSigned, "tls-self-signed"
	if c.CertFile != "" || c.KeyFile != "" {
		material, flag = true, "tls-cert"
	}
	switch {
	case material && !c.Secure && l.given("secure"):
		l.conflict("secure", flag, "contradict each other: drop one of them, because a certificate means HTTPS")
	case c.Secure && !material:
		l.problem("secure", "needs a certificate: give "+l.names["tls-cert"]+" and "+l.names["tls-key"]+", or "+l.names["tls-self-signed"])
	}
	if c.LegacyPort == 0 {
		return
	}
	if material {
		l.conflict("port", flag, "contradict each other: the port is without encryption; use "+l.names["address"])
	} else if c.Secure {
		l.conflict("port", "secure", "contradict each other: the port is without encryption; use "+l.names["address"])
	}
}

func (l *loader) checkAddresses() {
	c := &l.config
	if l.given("metrics-port") && l.given("metrics-address") {
		l.conflict("metrics-port", "metrics-address", "say the same thing twice: give one of them")
	}
	for _, address := range []struct{ flag, value string }{
		{"address", c.Address},
		{"internal-address", c.InternalAddress},
		{"metrics-address", c.MetricsAddress},
		{"gateway-address", c.GatewayAddress},
	} {
		if address.value != "" && !validAddress(address.value, address.flag == "gateway-address") {
			l.problem(address.flag, "is no [host]:port: write it like :8443 or 127.0.0.1:8443")
		}
	}
	if len(l.problems) > 0 {
		return
	}
	api, metrics := apiAddress(c), metricsAddress(c)
	if overlap(api, c.InternalAddress) {
		l.conflict("address", "internal-address", "are the same port: give /internal paths a port of their own")
	}
	metricsFlag := "metrics-port"
	if c.MetricsAddress != "" {
		metricsFlag = "metrics-address"
	}
	if overlap(api, metrics) {
		l.conflict("address", metricsFlag, "are the same port: give metrics a port of their own")
	}
	if overlap(c.InternalAddress, metrics) {
		l.conflict("internal-address", metricsFlag, "are the same port: give metrics a port of their own")
	}
}

func (l *loader) checkAmounts() {
	c := &l.config
	if c.MinConns > c.MaxConns && l.given("db-max-idle-conns") {
		l.conflict("db-max-idle-conns", "db-max-open-conns", "contradict each other: fewer connections can be idle than open")
	}
	if c.PollInterval >= c.CacheStaleAfter {
		l.conflict("key-poll-interval", "key-cache-stale-after", "contradict each other: keys would be too old between two polls")
	}
	if c.SnapshotMaxAge > 0 && c.SnapshotMaxAge < leastSnapshotAge {
		l.problem("snapshot-max-age", "is shorter than 30s: the API server is asked for a sign of life every 10s")
	}
	if c.GatewayAddress != "" && c.ProbeMode == ProbePolicy && l.given("probe-mode") {
		l.warnings = append(l.warnings, l.names["gateway-address"]+" has no effect: "+l.names["probe-mode"]+" is policy, which asks no model")
	}
	if len(c.SelfSignedFor) > 0 && (!c.SelfSigned || c.CertFile != "") {
		l.warnings = append(l.warnings, l.names["tls-self-signed-names"]+" has no effect: no certificate is made at start")
	}
	if c.SelfSigned && c.CertFile != "" {
		l.warnings = append(l.warnings, l.names["tls-self-signed"]+" has no effect: "+l.names["tls-cert"]+" is used")
	}
	if c.AllowGatewayMarked {
		l.warnings = append(l.warnings, l.names["allow-gateway-marked-internal"]+" is on: only network policies keep the gateway away from /internal paths")
	}
}

// complete fills in what follows from other settings.
func (l *loader) complete() {
	c := &l.config
	c.Secure = c.Secure || c.CertFile != "" || c.SelfSigned
	if c.CertFile != "" {
		c.SelfSigned = false
	}
	c.Address = apiAddress(c)
	c.MetricsAddress = metricsAddress(c)
	if c.InstanceName == "" {
		c.InstanceName = c.GatewayName
	}
	if len(c.SelfSignedFor) == 0 {
		c.SelfSignedFor = serviceNames(c.TenantName, c.Namespace)
	}
	if c.Debug && !l.given("log-level") {
		c.LogLevel = "debug"
	}
	c.MinConns = min(c.MinConns, c.MaxConns)
}

func apiAddress(c *Config) string {
	switch {
	case c.Address != "":
		return c.Address
	case c.LegacyPort != 0:
		return ":" + strconv.Itoa(c.LegacyPort)
	case c.Secure || c.CertFile != "" || c.SelfSigned:
		return addressHTTPS
	default:
		return addressHTTP
	}
}

func metricsAddress(c *Config) string {
	if c.MetricsAddress != "" {
		return c.MetricsAddress
	}
	return ":" + strconv.Itoa(c.MetricsPort)
}

// serviceNames are the names by which others of the cluster reach the tenant's
// Service, and those of the machine itself.
func serviceNames(tenant, namespace string) []string {
	service := "maas-api"
	if tenant != DefaultTenant {
		service += "-" + tenant
	}
	names := []string{"localhost", "127.0.0.1", "::1"}
	for _, name := range []string{service, service + "." + namespace, service + "." + namespace + ".svc", service + "." + namespace + ".svc.cluster.local"} {
		if len(validation.IsDNS1123Subdomain(name)) == 0 {
			names = append(names, name)
		}
	}
	return names
}

func validAddress(value string, needHost bool) bool {
	host, port, err := net.SplitHostPort(value)
	if err != nil || (needHost && host == "") {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && (number > 0 || !needHost)
}

// overlap tells whether two addresses cannot be listened on at once. Port 0 is
// any free one.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || wildcard(hostA) || wildcard(hostB)
}

func wildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || (ip != nil && ip.IsUnspecified())
}

// DatabaseURL returns the URL in a text that may have white space around it. The
// error does not repeat the text, because it holds a password.
func DatabaseURL(text string) (string, error) {
	url := strings.TrimSpace(text)
	switch {
	case url == "":
		return "", errors.New("invalid database URL: it is empty")
	case !strings.HasPrefix(url, "postgresql://") && !strings.HasPrefix(url, "postgres://"):
		return "", errors.New("invalid database URL: it must begin with postgresql:// or postgres://")
	default:
		return url, nil
	}
}
