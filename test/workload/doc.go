// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload runs the programs of Pods that the simulated nodes only pretend
// to run: maas-api of rendered Deployments, and the jobs about keys. It does for
// Pods with the label [testenv.RunLabel] what a kubelet, a container runtime and the
// network of Services do, so that Deployments become available, Jobs complete and
// both fail for the reasons they have on a cluster. It also stands in for what makes
// serving certificates: OpenShift's service CA and cert-manager.
//
// It owns the processes, their files and the status of those Pods. Which Pods there
// are is for the real controllers to say. It must not know what any program is for,
// except for the table of flags in [MaaSAPI].
//
// What differs from a cluster, and nothing else:
//
//   - Volumes are directories elsewhere: a mount path in the command, the arguments
//     or the value of a variable is rewritten to that directory. The rest of an image
//     is this machine, and its root file system is not read-only.
//   - A listener has another port than in the Pod, on the loopback interface: what
//     [Program.Listen] finds in arguments and variables is replaced by a flag at the
//     end of the arguments. Probes and Services lead to the port that the Pod
//     declares, so that one nobody listens on refuses connections here too.
//   - <service>.<namespace>.svc:<port>, with or without .cluster.local, is rewritten
//     in the command, the arguments and the values of variables to the address of
//     [Runner.Service], if there is such a Service. Certificates made here are also
//     for 127.0.0.1, beside the names that they are for on a cluster.
//   - A client configuration of the Pod's token lies where $KUBECONFIG says; a Pod
//     without a token has neither. Tokens live for a week.
//   - Users, capabilities, limits of resources and NetworkPolicies are not enforced.
//   - Readiness is asked for more often than the probe says, and without its initial
//     delay; pauses before restarts are shorter.
//
// What it cannot do as a kubelet would (volumes of other kinds, side-cars, probes by
// gRPC, ...) keeps the Pod from starting, with the reason in its status.
package workload
