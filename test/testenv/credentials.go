// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// AdminUser is the name under which [Env.AdminConfig] shows in the audit log.
	AdminUser = "kubernetes-admin"
	// NodeSimulatorUser is the name of the program that simulates nodes.
	NodeSimulatorUser = "node-simulator"

	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	frontProxyUser        = "front-proxy-client"
	mastersGroup          = "system:masters"
)

// serviceCIDR holds the addresses of Services; the first is the API server's.
const (
	serviceCIDR        = "10.96.0.0/16"
	apiServerServiceIP = "10.96.0.1"
)

// writeCredentials makes every certificate, key and kubeconfig of the instance.
func (e *Env) writeCredentials() error {
	dir := e.pkiDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	ca, err := loadOrCreateAuthority(dir, "ca")
	if err != nil {
		return err
	}
	frontProxyCA, err := loadOrCreateAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	if err := writeServiceAccountKeys(dir); err != nil {
		return err
	}
	frontProxy, err := frontProxyCA.client(frontProxyUser)
	if err != nil {
		return err
	}
	if err := frontProxy.write(dir, frontProxyUser); err != nil {
		return err
	}
	serving, err := ca.server(loopback, apiServerServiceIP, "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return err
	}
	if err := serving.write(dir, "serving"); err != nil {
		return err
	}
	return e.writeKubeconfigs(ca)
}

// writeServiceAccountKeys makes the key that signs service account tokens.
func writeServiceAccountKeys(dir string) error {
	key, err := loadOrCreateKey(filepath.Join(dir, "sa.key"))
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	return writeFile(filepath.Join(dir, "sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (e *Env) writeKubeconfigs(ca *authority) error {
	for _, identity := range []struct {
		file, user string
		groups     []string
	}{
		{"admin", AdminUser, []string{mastersGroup}},
		{"kube-controller-manager", controllerManagerUser, nil},
		{"kube-scheduler", schedulerUser, nil},
		{"kwok", NodeSimulatorUser, []string{mastersGroup}},
	} {
		pair, err := ca.client(identity.user, identity.groups...)
		if err != nil {
			return err
		}
		config := &rest.Config{
			Host:            e.url(),
			TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem, CertData: pair.cert, KeyData: pair.key},
		}
		if err := writeKubeconfig(e.kubeconfig(identity.file), identity.user, "", config); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig stores a client configuration as a kubeconfig file.
func writeKubeconfig(path, user, namespace string, config *rest.Config) error {
	const name = "maas-testenv"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			user: {
				ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
				Token: config.BearerToken,
			},
		},
		Contexts: map[string]*clientcmdapi.Context{
			name: {Cluster: name, AuthInfo: user, Namespace: namespace},
		},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encode kubeconfig of %s: %w", user, err)
	}
	return writeFile(path, content)
}

// unlimited returns the configuration in a kubeconfig without client-side rate
// limits: the API server's own are the only ones.
func unlimited(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
