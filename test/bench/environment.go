// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Environment is where figures come from.
type Environment struct {
	Date       time.Time `json:"date"`
	Commit     string    `json:"commit"`
	CPU        string    `json:"cpu"`
	CPUs       int       `json:"cpus"`
	MemoryMiB  int64     `json:"memoryMiB"`
	Load       string    `json:"load"`
	Go         string    `json:"go"`
	Kubernetes string    `json:"kubernetes"`
}

func (e *Environment) rows() [][2]string {
	return [][2]string{
		{"commit", e.Commit},
		{"date", e.Date.Format(time.RFC3339)},
		{"cpu", fmt.Sprintf("%d x %s", e.CPUs, e.CPU)},
		{"memory", fmt.Sprintf("%d MiB", e.MemoryMiB)},
		{"load before", e.Load},
		{"go", e.Go},
		{"kubernetes", e.Kubernetes},
	}
}

// describeHost reads what does not need a cluster. What cannot be found out
// stays empty: it explains figures, it does not make them.
func describeHost(ctx context.Context) Environment {
	e := Environment{Date: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name")}
	if kib, _, ok := strings.Cut(field("/proc/meminfo", "MemTotal"), " "); ok {
		total, _ := strconv.ParseInt(kib, 10, 64)
		e.MemoryMiB = total / kibPerMiB
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		e.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	describe := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
	describe.Dir = testenv.RepoRoot()
	if out, err := describe.Output(); err == nil {
		e.Commit = strings.TrimSpace(string(out))
	}
	return e
}

// serverVersion asks the API server.
func serverVersion(cfg *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("make a discovery client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("read the server's version: %w", err)
	}
	return version.GitVersion, nil
}

// field returns the value of the first "name : value" line of a file in /proc.
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
