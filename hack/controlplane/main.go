// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane is every server of a Kubernetes control plane, and
// kubectl, in one program: Kubernetes is compiled and linked once, and one
// file is all that a test machine needs.
//
// The personality is chosen by the name the program is called by (a symbolic
// link named kube-apiserver) or by the first argument (controlplane
// kube-apiserver ...). Only the chosen one is constructed, because the servers
// install process-wide state such as signal handlers. The program holds no
// logic of its own: flags come from whoever starts it (test/testenv).
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// exitUsage is the exit code for a call that names no known personality.
const exitUsage = 2

// personality is one program this binary can be. run is called with os.Args
// set as if that program had been started directly, and returns the exit code.
type personality struct {
	name    string
	summary string
	run     func() int
}

func personalities() []personality {
	return []personality{
		{"etcd", "the store", func() int {
			etcdmain.Main(os.Args)
			return 0
		}},
		{"kube-apiserver", "the API server", func() int {
			return cli.Run(apiserver.NewAPIServerCommand())
		}},
		{"kube-controller-manager", "the built-in controllers", func() int {
			return cli.Run(controllermanager.NewControllerManagerCommand())
		}},
		{"kube-scheduler", "the scheduler", func() int {
			return cli.Run(scheduler.NewSchedulerCommand())
		}},
		{"kubectl", "the command line client", runKubectl},
	}
}

func runKubectl() int {
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)) //nolint:errcheck // a bad -v is reported by kubectl's own flag parser
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints the error as kubectl does, and exits
	}
	return 0
}

func main() {
	p, args := choose(os.Args)
	if p == nil {
		usage(os.Stderr, args)
		os.Exit(exitUsage)
	}
	os.Args = args
	os.Exit(p.run())
}

// choose finds the personality meant by the command line, by the name of the
// program or else by the first argument, and the arguments it shall see, its
// own name first. Without a match it returns nil and the command line.
func choose(args []string) (*personality, []string) {
	all := personalities()
	for n := range min(len(args), 2) {
		name := filepath.Base(args[n])
		for i := range all {
			if all[i].name == name {
				return &all[i], append([]string{name}, args[n+1:]...)
			}
		}
	}
	return nil, args
}

func usage(w io.Writer, args []string) {
	if len(args) > 1 {
		fmt.Fprintf(w, "controlplane: there is no %q in this program.\n\n", args[1])
	}
	fmt.Fprintln(w, "Usage: controlplane PERSONALITY [FLAGS]")
	fmt.Fprintln(w, "\nPersonalities (a link of that name to this program does the same):")
	for _, p := range personalities() {
		fmt.Fprintf(w, "  %-24s %s\n", p.name, p.summary)
	}
	fmt.Fprintln(w, "\ncontrolplane PERSONALITY --help lists the flags of one of them.")
}
