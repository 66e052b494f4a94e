// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

// clusterDomain ends the names of Services.
const clusterDomain = ".svc.cluster.local"

// namesOptions are what the proxy of names is told.
type namesOptions struct {
	listen, report, ready string
	// known are further names, as <host>:<port>=<address>.
	known []string
}

// namesCommand leads Authorino to what it knows by name; a stack starts it as a child.
func namesCommand() *cobra.Command {
	var o namesOptions
	cmd := &cobra.Command{
		Use:    "names",
		Short:  "Lead connections to the Services of the cluster to where they are here",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return runNames(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "", "loopback address of the proxy")
	f.StringVar(&o.report, "report-file", "", "file that says where Services are")
	f.StringVar(&o.ready, "ready-file", "", "file to create once the proxy serves")
	f.StringArrayVar(&o.known, "name", nil, "a further name, as <host>:<port>=<address>; repeat it for each")
	return cmd
}

func runNames(ctx context.Context, o namesOptions) error {
	proxy, err := engines.NewNameProxyAt(ctx, o.listen)
	if err != nil {
		return err
	}
	for _, known := range o.known {
		name, address, _ := strings.Cut(known, "=")
		proxy.Set(name, address)
	}
	proxy.Otherwise(func(_ context.Context, name string) (string, error) {
		var report workloadReport
		if err := readJSON(o.report, &report); err != nil {
			return "", err
		}
		return report.named(name), nil
	})
	if err := os.WriteFile(o.ready, nil, 0o600); err != nil {
		return errors.Join(fmt.Errorf("report readiness: %w", err), proxy.Stop())
	}
	<-ctx.Done()
	return proxy.Stop()
}

// named is where a Service is here that is called <service>.<namespace>.svc.cluster.local:<port>;
// empty when there is none.
func (r workloadReport) named(name string) string {
	host, text, _ := strings.Cut(name, ":")
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return ""
	}
	short, isService := strings.CutSuffix(host, clusterDomain)
	service, namespace, _ := strings.Cut(short, ".")
	if !isService {
		return ""
	}
	return r.Services[serviceKey(namespace, service, int32(port))]
}

// startNames starts the proxy of names. Its address stays the same as long as
// Authorino, which was told of it, may run.
func (s *stack) startNames(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processNames); runs || err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	address, err := s.address(ctx, processNames)
	if err != nil {
		return err
	}
	provider, err := s.address(ctx, processProvider)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(s.layout.ready(processNames)); err != nil {
		return fmt.Errorf("remove a file of an earlier run: %w", err)
	}
	p, err := s.launch(ctx, process.Command{Name: processNames, Path: self, Args: []string{
		"names", "--listen=" + address, "--report-file=" + s.layout.workloadFile(), "--ready-file=" + s.layout.ready(processNames),
		"--name=" + issuerHost + ":443=" + provider,
	}}, child{Address: address})
	if err != nil {
		return err
	}
	return s.awaitFile(ctx, p)
}
