// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The Service behind every model server's route. What it says does not matter.
const (
	modelService = "model-servers"
	modelPort    = 8000
)

// gatewayGrace is more than the gateways take to end.
const gatewayGrace = 10 * time.Second

// gatewayAddresses are where Gateways are here, by their names.
var gatewayAddresses = map[string]string{}

// behindGateways are the tenants that have a gateway here.
func behindGateways() []tenant { return append(lasting(), doomed) }

// startGateways starts a gateway for each tenant, before there are any routes for it.
func startGateways(ctx context.Context, dir string) {
	GinkgoHelper()
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
	}))
	DeferCleanup(models.Close)
	for _, t := range behindGateways() {
		gatewayAddresses[t.gateway] = must(testenv.FreeAddress(ctx))
	}
	for _, t := range behindGateways() {
		t.startGateway(ctx, dir, models.URL)
	}
}

// startGateway starts the gateway of a tenant. It knows the tenant's own maas-api only,
// and the caller only by the token for that tenant.
func (t tenant) startGateway(ctx context.Context, dir, models string) {
	GinkgoHelper()
	identities := filepath.Join(dir, "identities-"+t.gateway+".yaml")
	known := map[string]service.Identity{t.token(): {Username: caller, Groups: []string{group}}}
	Expect(os.WriteFile(identities, must(yaml.Marshal(known)), 0o600)).To(Succeed())
	certificate := must(on.Env.IssueCertificate("gateway-"+t.gateway, t.host, "127.0.0.1"))
	api, ready := must(t.address(ctx)), filepath.Join(dir, "gateway-"+t.gateway+".address")
	p, err := process.Start(ctx, process.Command{
		Name: "gateway of " + t.name, Path: filepath.Join(testenv.RepoRoot(), "bin", "gateway-standin"),
		Log: filepath.Join(dir, "gateway-"+t.gateway+".log"),
		Args: []string{
			"--kubeconfig=" + on.Env.Kubeconfig(), "--gateway=" + t.gatewayKey().String(),
			"--listen=" + gatewayAddresses[t.gateway], "--address-file=" + ready,
			"--tls-cert=" + certificate.CertFile, "--tls-key=" + certificate.KeyFile, "--identities=" + identities,
			"--maas-api-route=" + t.names().MaaSAPIRoute(), "--maas-api=https://" + api, "--maas-api-ca=" + certificate.CAFile,
			"--backend-ca=" + certificate.CAFile, "--backend=" + infra + "/" + t.names().MaaSAPI() + "=https://" + api,
			"--backend=" + stage.ModelNamespace + "/" + modelService + "=" + models,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Stop, gatewayGrace)
	Eventually(func() error {
		if !p.Alive() {
			return StopTrying("it ended: " + p.Excerpt())
		}
		_, err := os.Stat(ready)
		return err
	}).Should(Succeed(), p.Name)
}

// visitor is a client of the tenant's gateway that is nobody.
func (t tenant) visitor() service.Client {
	GinkgoHelper()
	dialer := &net.Dialer{}
	return service.NewClient("https://"+t.host, &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority(), MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, gatewayAddresses[t.gateway])
		},
	})
}

// gatewayHere is where a Gateway is here, for maas-api.
func gatewayHere(name string) (address, authority string, err error) {
	authority, err = on.Env.ServerAuthority()
	return gatewayAddresses[name], authority, err
}
