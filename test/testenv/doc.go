// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv runs a real Kubernetes control plane on this machine: etcd,
// kube-apiserver and, where asked for, every controller of the
// controller-manager, the scheduler and simulated nodes. Suites, stand-ins and
// the developer's stack all stand on it.
//
// It owns the processes it starts, their certificates, their data directory,
// the identities they are used under, the CRDs of the products the operator
// meets, and the audit log. It starts programs built by hack/build.sh (and has
// them built when they are missing) and imports none of their code. It must
// know nothing of the operator's own logic, and only code below test/ may
// import it. It runs on Linux.
//
// Everything listens on 127.0.0.1, on ports from the kernel. An instance ends
// with the process that started it, or by [Env.Stop]; one started with
// [Options].KeepRunning stays until another process calls [Attach] and Stop.
package testenv
