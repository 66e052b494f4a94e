// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/internal/webhook"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "admission webhooks on a real API server")
}

// startTimeout is for a machine that has to build a control plane first.
const startTimeout = 20 * time.Minute

const (
	defaultNamespace = "models-as-a-service"
	aitenants        = "ai-tenants"
	gateways         = "openshift-ingress"
)

var (
	env   *testenv.Env
	admin client.Client
	// address is where the server of the specs listens.
	address string
	// stopServer ends it.
	stopServer func()
	// warnings are what the API server told the administrator.
	warnings heard
)

// heard keeps warnings.
type heard struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h *heard) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

// take returns what was heard since it was called last.
func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	texts := h.texts
	h.texts = nil
	return texts
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	env, err = testenv.Start(ctx, testenv.Options{Log: GinkgoWriter, CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	scheme := parts.Scheme(GinkgoTB())
	config := env.AdminConfig()
	config.WarningHandlerWithContext = &warnings
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{defaultNamespace, aitenants, gateways} {
		Expect(admin.Create(ctx, namespace(name, nil))).To(Succeed())
	}
	address, err = testenv.FreeAddress(ctx)
	Expect(err).NotTo(HaveOccurred())
	certs, err := env.InstallWebhooks(ctx, address)
	Expect(err).NotTo(HaveOccurred())
	startServer(ctx, scheme, certs)
	awaitWebhooks(ctx)
}, NodeTimeout(startTimeout))

// startServer serves the webhooks under the operator's identity, so that reads it
// has no right to fail.
func startServer(ctx context.Context, scheme *runtime.Scheme, certs string) {
	GinkgoHelper()
	config, err := env.OperatorConfig(ctx)
	Expect(err).NotTo(HaveOccurred())
	host, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(port)
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: GinkgoLogr, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{Host: host, Port: number, CertDir: certs}),
	})
	Expect(err).NotTo(HaveOccurred())
	settings := tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: gateways, Name: "maas-default-gateway"},
		DefaultNamespace: defaultNamespace, AITenantNamespace: aitenants, Discovery: true,
	}
	webhook.Register(mgr.GetWebhookServer(), webhook.Tenants{
		Cached: lookup.Tenants{Reader: mgr.GetClient(), Settings: settings},
		Live:   lookup.Tenants{Reader: mgr.GetAPIReader(), Settings: settings},
	})
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(life) }()
	stopServer = func() {
		end()
		Eventually(ended).Should(Receive(Succeed()))
		stopServer = func() {}
	}
	DeferCleanup(func() { stopServer() })
}

// awaitWebhooks waits until the API server has taken up all of the configuration
// and gets answers.
func awaitWebhooks(ctx context.Context) {
	GinkgoHelper()
	misplaced := aiTenant("probe")
	misplaced.Namespace = "default"
	for _, object := range []client.Object{subscription("default", "probe"), authPolicy("default", "probe"), model("default", "probe", "nobody"), misplaced} {
		Eventually(func() error { return admin.Create(ctx, object, client.DryRunAll) }).Should(
			MatchError(Or(ContainSubstring("not enabled for MaaS tenant resources"), ContainSubstring("does not exist"), ContainSubstring("only: create it there"))))
	}
}

// certificate is the serial number of the certificate the server shows.
func certificate(ctx context.Context) (string, error) {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}
