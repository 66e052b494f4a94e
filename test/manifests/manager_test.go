// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// root is the directory of the main module, seen from this package.
const root = "../.."

func TestManagerAcceptsTheArgumentsOfItsDeployment(t *testing.T) {
	t.Parallel()
	manager := buildManager(t)
	args := managerArgs(t)
	if out, err := help(t, manager, args); err != nil {
		t.Errorf("the manager refuses the arguments %q: %v\n%s", args, err, out)
	}
	// Shows that a wrong argument is noticed although --help follows it.
	if out, err := help(t, manager, append(slices.Clone(args), "--no-such-flag=1")); err == nil {
		t.Errorf("the manager accepts a flag it does not have:\n%s", out)
	}
}

// help runs the manager with arguments followed by --help: flags are parsed in
// order, and nothing is started.
func help(t *testing.T, manager string, args []string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), manager, append(slices.Clone(args), "--help")...).CombinedOutput()
	return string(out), err
}

func buildManager(tb testing.TB) string {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), "manager")
	// The flags of the Makefile, so that the compiler's cache serves both.
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-mod=readonly", "-trimpath", "-o", binary, "./cmd/maas-controller")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build the manager: %v\n%s", err, out)
	}
	return binary
}

// managerArgs returns the container's arguments as the kubelet would expand them.
func managerArgs(tb testing.TB) []string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config/manager/manager.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		tb.Fatalf("decode the Deployment: %v", err)
	}
	containers := d.Spec.Template.Spec.Containers
	if len(containers) != 1 || containers[0].Name != "manager" {
		tb.Fatalf("the Deployment has %d containers, want only manager", len(containers))
	}
	env := map[string]string{}
	for _, e := range containers[0].Env {
		env[e.Name] = envValue(e, d.Namespace)
	}
	reference := regexp.MustCompile(`\$\((\w+)\)`)
	args := make([]string, len(containers[0].Args))
	for i, arg := range containers[0].Args {
		args[i] = reference.ReplaceAllStringFunc(arg, func(ref string) string {
			value, ok := env[ref[2:len(ref)-1]]
			if !ok {
				tb.Errorf("argument %q refers to a variable that is not set", arg)
			}
			return value
		})
	}
	return args
}

func envValue(e corev1.EnvVar, namespace string) string {
	if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
		return namespace
	}
	return e.Value
}
