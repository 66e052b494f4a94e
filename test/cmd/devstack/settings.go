// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
)

// setting is a variable for a shell.
type setting struct{ name, value string }

// writeSettings writes what a person needs to go on by hand with a tenant: variables
// for a shell to source, and a configuration of curl that finds and trusts the gateway.
func (s *stack) writeSettings(ctx context.Context, tenant string) error {
	l := s.layout.of(tenant)
	settings := []setting{
		{"KUBECONFIG", s.env.Kubeconfig()},
		{"KUBECTL", s.layout.binary("kubectl")},
	}
	if !s.callable() {
		return l.writeEnv(settings)
	}
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	t, err := s.site(tenant)
	if err != nil {
		return err
	}
	ca, err := s.env.ServerAuthority()
	if err != nil {
		return err
	}
	service, err := s.serviceAddress(ctx, t.service())
	if err != nil {
		return err
	}
	gateway := s.state.Addresses[t.gatewayProcess()]
	if err := l.writeCurl(ca, t.model.Hostname, gateway); err != nil {
		return err
	}
	settings = append(settings,
		setting{"MAAS_URL", "https://" + t.model.Hostname},
		setting{"MAAS_GATEWAY", gateway},
		setting{"MAAS_CA", ca},
		setting{"MAAS_CURL", l.curlFile()},
		setting{"MAAS_TOKEN", s.state.Token},
		setting{"MAAS_API_URL", "https://" + service},
	)
	if s.engines {
		settings = append(settings,
			setting{"MAAS_GATEWAY_ADMIN", "http://" + s.state.Addresses[t.gatewayAdmin()]},
			setting{"MAAS_ISSUER", issuer},
			setting{"MAAS_PROVIDER", s.state.Addresses[processProvider]},
		)
	}
	if v := s.visited; v != nil {
		settings = append(settings,
			setting{"MAAS_KEY_FILE", l.keyFile()},
			setting{"MAAS_KEY_ID", v.keyID},
			setting{"MAAS_MODEL", v.id},
			setting{"MAAS_MODEL_URL", v.endpoint},
		)
	}
	return l.writeEnv(settings)
}

// writeEnv writes variables for a shell to source.
func (l layout) writeEnv(settings []setting) error {
	var b strings.Builder
	for _, v := range settings {
		fmt.Fprintf(&b, "export %s='%s'\n", v.name, strings.ReplaceAll(v.value, "'", `'\''`))
	}
	if err := os.WriteFile(l.envFile(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}

// writeCurl writes a configuration of curl with which it finds a hostname at the
// gateway and trusts its certificate.
func (l layout) writeCurl(ca, hostname, gateway string) error {
	host, port, err := net.SplitHostPort(gateway)
	if err != nil {
		return fmt.Errorf("write settings of curl: %w", err)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	text := strings.Join([]string{
		"silent", "show-error", `noproxy = "*"`, `write-out = "\n"`,
		`cacert = "` + quote.Replace(ca) + `"`,
		`connect-to = "` + hostname + ":443:" + net.JoinHostPort(host, port) + `"`,
	}, "\n") + "\n"
	if err := os.WriteFile(l.curlFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write settings of curl: %w", err)
	}
	return nil
}

// writeKey keeps an API key for a person to use, readable by nobody else.
func (l layout) writeKey(key string) error {
	if err := os.WriteFile(l.keyFile(), []byte(key+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	return nil
}
