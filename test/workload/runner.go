// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Options say what is run, and where. Env and Images are required.
type Options struct {
	// Env is the control plane, started with [testenv.Options].RunPods.
	Env *testenv.Env
	// Images are the images there are; another one cannot be pulled.
	Images map[string]Program
	// Certificates are who makes serving certificates; usually one of both.
	Certificates []CertificateMaker
	// Addresses are those of [Runner.Service] that somebody was told before.
	Addresses map[ServicePort]string
	// Dir receives the volumes and the logs; empty means a directory of the control
	// plane's.
	Dir string
	// Log receives one line per container that starts, ends or cannot start; nil
	// discards them.
	Log io.Writer
}

// CertificateMaker is something that makes serving certificates.
type CertificateMaker string

const (
	// ServiceCA is OpenShift's: it fills the Secret that a Service asks for by its
	// annotation service.beta.openshift.io/serving-cert-secret-name, and puts a
	// ConfigMap openshift-service-ca.crt into every namespace.
	ServiceCA CertificateMaker = "service-ca"
	// CertManager fills the Secrets of Certificates, whose CRD must be there. Its
	// issuers are one, and always willing.
	CertManager CertificateMaker = "cert-manager"
)

// ServicePort is a port of a Service.
type ServicePort struct {
	Namespace, Name string
	Port            int32
}

// Runner runs Pods. Its methods are safe for concurrent use.
type Runner struct{}

// Start begins to run Pods, and what makes certificates. The context bounds the
// start. Programs end with the runner, and with the process it is in.
func Start(ctx context.Context, o Options) (*Runner, error) {
	return nil, errors.New("not written yet")
}

// Stop ends every program at once and leaves the Pods as they are, as a node does
// that loses its power.
func (r *Runner) Stop() error { return nil }

// Service is a loopback address that leads to the ready Pods of a Service, the same
// for as long as the runner runs. While there are none it refuses connections.
func (r *Runner) Service(ctx context.Context, service ServicePort) (string, error) {
	return "", errors.New("not written yet")
}

// Container is a container that was started.
type Container struct {
	Pod  types.NamespacedName
	Name string
	// Args and Env are what its program was started with, as they were rewritten.
	Args []string
	Env  map[string]string
	// Ports are loopback addresses by the ports in the Pod.
	Ports map[int32]string
	// Log is the file with its output, PID the process id, Running whether it runs.
	Log     string
	PID     int
	Running bool
	// Restarts is how often it was started again.
	Restarts int32
}

// Containers lists the containers of the Pods in a namespace that were started, the
// latest start of each, also those that ended. Pods that are gone have none.
func (r *Runner) Containers(namespace string) []Container { return nil }
