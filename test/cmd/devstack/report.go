// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// The ports of maas-api, of its Service and in its Pods.
	apiPort     = 8443
	metricsPort = 9090
)

// workloadReport is what the process that runs Pods tells others, in a file.
type workloadReport struct {
	// Services are where Services are here, by <namespace>/<name>:<port>.
	Services map[string]string `json:"services"`
	// Programs are those of the Pods' containers.
	Programs []podProgram `json:"programs"`
}

// podProgram is the program of a container, as far as others need to know: no
// variables, which may hold secrets.
type podProgram struct {
	Namespace string           `json:"namespace"`
	Pod       string           `json:"pod"`
	PID       int              `json:"pid,omitempty"`
	Running   bool             `json:"running"`
	Restarts  int32            `json:"restarts,omitempty"`
	Ports     map[int32]string `json:"ports,omitempty"`
	Log       string           `json:"log"`
}

func programsOf(containers []workload.Container) []podProgram {
	all := make([]podProgram, 0, len(containers))
	for i := range containers {
		c := &containers[i]
		all = append(all, podProgram{
			Namespace: c.Pod.Namespace, Pod: c.Pod.Name, PID: c.PID, Running: c.Running, Restarts: c.Restarts, Ports: c.Ports, Log: c.Log,
		})
	}
	return all
}

// equal tells whether two reports say the same.
func (r workloadReport) equal(o workloadReport) bool {
	return maps.Equal(r.Services, o.Services) && slices.EqualFunc(r.Programs, o.Programs, func(a, b podProgram) bool {
		same := a.Namespace == b.Namespace && a.Pod == b.Pod && a.PID == b.PID && a.Running == b.Running && a.Restarts == b.Restarts
		return same && a.Log == b.Log && maps.Equal(a.Ports, b.Ports)
	})
}

// deployment is the name of the Deployment that a Pod belongs to, which Kubernetes
// makes the Pod's name of; that of a Job's Pod loses its end too.
func (p podProgram) deployment() string {
	const generated = 2
	parts := strings.Split(p.Pod, "-")
	return strings.Join(parts[:max(len(parts)-generated, 1)], "-")
}

// serves tells whether the program is a server: jobs have no ports.
func (p podProgram) serves() bool { return len(p.Ports) > 0 }

func serviceKey(namespace, name string, port int32) string {
	return fmt.Sprintf("%s/%s:%d", namespace, name, port)
}

// service is where maas-api's Service of that name is here; empty when there is none.
func (r workloadReport) service(name string) string {
	return r.Services[serviceKey(infraNamespace, name, apiPort)]
}

// servers are the programs that serve, those of one Deployment together.
func (r workloadReport) servers() []podProgram {
	var some []podProgram
	for _, p := range r.Programs {
		if p.serves() {
			some = append(some, p)
		}
	}
	slices.SortStableFunc(some, func(a, b podProgram) int { return cmp.Compare(a.deployment(), b.deployment()) })
	return some
}

// readReport reads what the process that runs Pods told last.
func (l layout) readReport() (workloadReport, error) {
	var r workloadReport
	err := readJSON(l.workloadFile(), &r)
	return r, err
}

// readJSON reads a file that may not be there yet.
func readJSON(file string, into any) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// writeJSON replaces a file at once, so that nobody reads half of it.
func writeJSON(file string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
