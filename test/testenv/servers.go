// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// auditPolicy records who did what to which object, without bodies, and leaves
// out probes.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]
- level: Metadata
`

func flag(name string, value any) string { return fmt.Sprintf("--%s=%v", name, value) }

func httpURL(port int) string { return fmt.Sprintf("http://%s:%d", loopback, port) }

func httpsURL(port int) string { return fmt.Sprintf("https://%s:%d", loopback, port) }

func (e *Env) pki(file string) string { return filepath.Join(e.pkiDir(), file) }

func (e *Env) etcdArgs() []string {
	client, peer := httpURL(e.state.Ports.EtcdClient), httpURL(e.state.Ports.EtcdPeer)
	return []string{
		flag("data-dir", filepath.Join(e.dir, "etcd")),
		flag("listen-client-urls", client),
		flag("advertise-client-urls", client),
		flag("listen-peer-urls", peer),
		flag("initial-advertise-peer-urls", peer),
		flag("initial-cluster", "default="+peer),
		// The data is worth nothing after the machine has crashed.
		flag("unsafe-no-fsync", true),
		flag("log-level", "warn"),
	}
}

func (e *Env) apiServerArgs() []string {
	return []string{
		flag("etcd-servers", httpURL(e.state.Ports.EtcdClient)),
		flag("bind-address", loopback),
		flag("advertise-address", loopback),
		flag("secure-port", e.state.Ports.APIServer),
		flag("service-cluster-ip-range", serviceCIDR),
		// No Service reaches a loopback address, so none is pointed here.
		flag("endpoint-reconciler-type", "none"),
		flag("shutdown-delay-duration", "0s"),
		flag("authorization-mode", "RBAC"),
		flag("enable-admission-plugins", "OwnerReferencesPermissionEnforcement"),
		flag("allow-privileged", true),
		flag("profiling", false),

		flag("cert-dir", e.pkiDir()),
		flag("tls-cert-file", e.pki("serving.crt")),
		flag("tls-private-key-file", e.pki("serving.key")),
		flag("client-ca-file", e.pki("ca.crt")),
		flag("requestheader-client-ca-file", e.pki("front-proxy-ca.crt")),
		flag("requestheader-allowed-names", frontProxyUser),
		flag("requestheader-username-headers", "X-Remote-User"),
		flag("requestheader-group-headers", "X-Remote-Group"),
		flag("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
		flag("proxy-client-cert-file", e.pki(frontProxyUser+".crt")),
		flag("proxy-client-key-file", e.pki(frontProxyUser+".key")),
		flag("service-account-issuer", "https://kubernetes.default.svc"),
		flag("service-account-key-file", e.pki("sa.pub")),
		flag("service-account-signing-key-file", e.pki("sa.key")),

		flag("audit-policy-file", e.auditPolicyFile()),
		flag("audit-log-path", e.auditLogFile()),
		flag("audit-log-format", "json"),
		// One file, complete up to the last finished request.
		flag("audit-log-mode", "blocking"),
		flag("audit-log-maxsize", 0),
	}
}

func (e *Env) controllerManagerArgs() []string {
	kubeconfig := e.kubeconfig("kube-controller-manager")
	return append(e.componentArgs(kubeconfig, e.state.Ports.ControllerManager),
		flag("controllers", "*"),
		flag("use-service-account-credentials", true),
		flag("service-account-private-key-file", e.pki("sa.key")),
		flag("root-ca-file", e.pki("ca.crt")),
		flag("cluster-signing-cert-file", e.pki("ca.crt")),
		flag("cluster-signing-key-file", e.pki("ca.key")),
		// The defaults are meant for clusters that share an API server.
		flag("kube-api-qps", 300),
		flag("kube-api-burst", 600),
	)
}

func (e *Env) schedulerArgs() []string {
	return append(e.componentArgs(e.kubeconfig("kube-scheduler"), e.state.Ports.Scheduler),
		flag("kube-api-qps", 300),
		flag("kube-api-burst", 600),
	)
}

// componentArgs are what the controller-manager and the scheduler share.
func (e *Env) componentArgs(kubeconfig string, port int) []string {
	return []string{
		flag("kubeconfig", kubeconfig),
		flag("authentication-kubeconfig", kubeconfig),
		flag("authorization-kubeconfig", kubeconfig),
		flag("leader-elect", false),
		flag("bind-address", loopback),
		flag("secure-port", strconv.Itoa(port)),
		flag("tls-cert-file", e.pki("serving.crt")),
		flag("tls-private-key-file", e.pki("serving.key")),
		flag("profiling", false),
	}
}

func (e *Env) kwokArgs() []string {
	return []string{
		flag("kubeconfig", e.kubeconfig("kwok")),
		flag("config", e.stagesFile()),
		flag("manage-all-nodes", true),
		// Without leases the controllers take the nodes for dead every minute, and the
		// Pods on them for not ready.
		flag("node-lease-duration-seconds", 40),
		// Without these it would serve a kubelet's port on every interface.
		flag("node-port", 0),
		flag("server-address", ""),
	}
}
