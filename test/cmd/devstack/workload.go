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
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// reportPeriod is how often the process that runs Pods looks for what it has to tell.
const reportPeriod = 200 * time.Millisecond

// workloadOptions are what the process that runs Pods is told.
type workloadOptions struct {
	controlPlane, dir, report string
	// image is that of maas-api, program what runs for it; empty pretends to.
	image, program string
	// gateways is a file with the addresses of Gateways.
	gateways string
}

// workloadCommand runs the programs of Pods; a stack starts it as a child.
func workloadCommand() *cobra.Command {
	var o workloadOptions
	cmd := &cobra.Command{
		Use:    "workload",
		Short:  "Run the programs of the Pods that the operator's Deployments and Jobs ask for",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return runWorkload(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.controlPlane, "control-plane", "", "data directory of the control plane")
	f.StringVar(&o.dir, "pods-dir", "", "directory for volumes and logs of Pods")
	f.StringVar(&o.report, "report-file", "", "file that says what runs, written again with every change")
	f.StringVar(&o.image, "maas-api-image", "", "image of maas-api")
	f.StringVar(&o.program, "maas-api-program", "", "program that runs for the image; without it Pods pretend to run")
	f.StringVar(&o.gateways, "gateways-file", "", "file with the addresses of Gateways here")
	return cmd
}

func runWorkload(ctx context.Context, o workloadOptions) error {
	ctrl.SetLogger(logr.Discard())
	env, err := testenv.Attach(o.controlPlane)
	if err != nil {
		return err
	}
	var before workloadReport
	if err := readJSON(o.report, &before); err != nil {
		return err
	}
	addresses, err := before.addresses()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(env.AdminConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	runner, err := workload.Start(ctx, workload.Options{
		Env: env, Dir: o.dir, Log: os.Stderr, Addresses: addresses,
		Images:       map[string]workload.Program{o.image: o.maasAPI()},
		Certificates: []workload.CertificateMaker{workload.CertManager},
	})
	if err != nil {
		return err
	}
	told := workloadReport{Services: map[string]string{}}
	tick := time.NewTicker(reportPeriod)
	defer tick.Stop()
	for first := true; ; first = false {
		now, err := look(ctx, client, runner)
		if now.Services != nil && (first || !now.equal(told)) {
			err = errors.Join(err, writeJSON(o.report, now))
			told = now
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "telling what runs:", err)
		}
		select {
		case <-ctx.Done():
			return runner.Stop()
		case <-tick.C:
		}
	}
}

// look makes a report of what runs now. Every Service of maas-api has an address from
// the moment it exists.
func look(ctx context.Context, client kubernetes.Interface, runner *workload.Runner) (workloadReport, error) {
	services, err := client.CoreV1().Services(infraNamespace).List(ctx, metav1.ListOptions{LabelSelector: testenv.RunLabel + "=" + testenv.RunLabelValue})
	if err != nil {
		return workloadReport{}, fmt.Errorf("list Services: %w", err)
	}
	now := workloadReport{Services: map[string]string{}, Programs: programsOf(runner.Containers(infraNamespace))}
	var errs []error
	for i := range services.Items {
		service := &services.Items[i]
		for _, p := range service.Spec.Ports {
			address, err := runner.Service(ctx, workload.ServicePort{Namespace: service.Namespace, Name: service.Name, Port: p.Port})
			if err != nil {
				errs = append(errs, err)
				continue
			}
			now.Services[serviceKey(service.Namespace, service.Name, p.Port)] = address
		}
	}
	return now, errors.Join(errs...)
}

// addresses are those of an earlier report, which others may know.
func (r workloadReport) addresses() (map[workload.ServicePort]string, error) {
	known := map[workload.ServicePort]string{}
	for key, address := range r.Services {
		namespace, rest, _ := strings.Cut(key, "/")
		name, text, _ := strings.Cut(rest, ":")
		port, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the addresses of Services: %q names none: %w", key, err)
		}
		known[workload.ServicePort{Namespace: namespace, Name: name, Port: int32(port)}] = address
	}
	return known, nil
}

// maasAPI is the image of maas-api, which finds its Gateway where that is here.
func (o workloadOptions) maasAPI() workload.Program {
	if o.program == "" {
		return workload.Program{}
	}
	program := workload.MaaSAPI(o.program)
	usual := program.Args
	program.Args = func(l workload.Line) []string {
		args := usual(l)
		known := map[string]string{}
		if err := readJSON(o.gateways, &known); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		address := known[l.Env["GATEWAY_NAMESPACE"]+"/"+l.Env["GATEWAY_NAME"]]
		if len(args) == 0 || address == "" { // A job, or a Gateway that is not here.
			return args
		}
		return append(args, "--gateway-address="+address)
	}
	return program
}
