// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/standins/status"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// KuadrantNamespace is where Kuadrant is installed.
	KuadrantNamespace = "kuadrant-system"
	// KuadrantName is the name of the object that stands for the installation.
	KuadrantName = "kuadrant"
	// GatewayClass is the class of the gateways that it configures.
	GatewayClass = "istio"

	// What its operator listens on in its network namespace.
	kuadrantMetrics = "8080"
	kuadrantProbes  = "8081"
	kuadrantWasm    = "8082"

	kuadrantReadyTimeout = 3 * time.Minute
	kuadrantReadyPoll    = 100 * time.Millisecond
	fieldOwner           = "engines"
)

// KuadrantCRDs are the sets of CRDs without which Kuadrant does not carry out policies.
// It looks for them once, when it starts.
func KuadrantCRDs() []testenv.CRDSet {
	return []testenv.CRDSet{testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.Limitador, testenv.Istio}
}

// Patient are settings of Kuadrant's operator for a machine that is busy with much else:
// with its own ones the gateway gives Authorino a fifth of a second, and an error to the
// client.
func Patient() []string { return []string{"AUTH_SERVICE_TIMEOUT=5s"} }

// BuildTelemetry builds the extension of Kuadrant that carries out TelemetryPolicies, if
// it has to be built.
func BuildTelemetry(ctx context.Context, out io.Writer) error {
	return testenv.Build(ctx, "telemetry", out)
}

// Telemetry are settings of Kuadrant's operator that have it run that extension.
func Telemetry() []string {
	return []string{"WITH_EXTENSIONS=true", "EXTENSIONS_DIR=" + filepath.Join(testenv.RepoRoot(), "bin", "kuadrant-extensions")}
}

// sockets is where Kuadrant's operator and its extensions meet, whoever runs them.
const sockets = "/tmp/kuadrant"

// KuadrantOptions say how Kuadrant's operator is run.
type KuadrantOptions struct {
	// Kubeconfig is the file that it uses, with the rights of an administrator.
	// Required.
	Kubeconfig string
	// Env are further settings of it, as NAME=value; of two the last counts.
	Env []string
	// WithoutOperators leaves it to somebody else to run [StartOperators].
	WithoutOperators bool
	// Bin is the program; empty means the one in bin, built if it has to be.
	Bin string
	// Dir receives the log; empty means a temporary directory that goes with it.
	Dir string
	// Keep lets it outlive this process.
	Keep bool
	// Started, unless nil, is told of the process as soon as there is one.
	Started func(*process.Process) error
	// Out receives the progress of a build; nil discards it.
	Out io.Writer
}

// Kuadrant is Kuadrant's running operator: it judges AuthPolicies and
// TokenRateLimitPolicies, and generates AuthConfigs, the limits in the Limitador object,
// and EnvoyFilters for gateways. Its AuthPolicies are enforced only when an Authorino
// says that their AuthConfigs are ready.
type Kuadrant struct {
	Process
	// Metrics is the URL of its metrics.
	Metrics string

	operators *Operators
}

// StartKuadrant builds the program if it has to be built, installs Kuadrant (its
// namespace, the class of gateways, the Kuadrant object) and returns when it says that
// it is ready. [KuadrantCRDs] must be installed, and something must play the gateway
// controller. The context bounds the start only: what ends it is Stop.
func StartKuadrant(ctx context.Context, o KuadrantOptions) (*Kuadrant, error) {
	k := &Kuadrant{}
	if err := k.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start Kuadrant: %w", err), k.abort(), k.operators.Stop())
	}
	return k, nil
}

func (k *Kuadrant) start(ctx context.Context, o KuadrantOptions) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if err := served(admin.RESTMapper()); err != nil {
		return err
	}
	for _, object := range installation() {
		if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if err := k.runOperators(ctx, config, o); err != nil {
		return err
	}
	addresses, err := freeAddresses(ctx, 2)
	if err != nil {
		return err
	}
	metrics, probes := addresses[0], addresses[1]
	k.Metrics = "http://" + metrics + "/metrics"
	err = k.Process.start(ctx, launch{
		target: "kuadrant", name: "kuadrant-operator", bin: o.Bin, dir: o.Dir, kubeconfig: o.Kubeconfig,
		args: []string{"-metrics-bind-address", inside(kuadrantMetrics), "-health-probe-bind-address", inside(kuadrantProbes)},
		env: append([]string{
			"OPERATOR_NAMESPACE=" + KuadrantNamespace, "WITH_EXTENSIONS=false",
			// There is no gateway to load the filter that it would serve.
			"WASM_SERVER_FILE_PATH=/dev/null", "WASM_SERVER_PORT=" + kuadrantWasm,
		}, o.Env...),
		private: []string{sockets},
		in:      map[string]string{metrics: inside(kuadrantMetrics), probes: inside(kuadrantProbes)},
		keep:    o.Keep, started: o.Started, log: o.Out, ready: "http://" + probes + "/readyz",
	})
	if err != nil {
		return err
	}
	if err := k.awaitReady(ctx, admin); err != nil {
		return err
	}
	return secureListener(ctx, admin)
}

func (k *Kuadrant) runOperators(ctx context.Context, config *rest.Config, o KuadrantOptions) (err error) {
	if o.WithoutOperators {
		return nil
	}
	k.operators, err = StartOperators(ctx, config)
	return err
}

// Stop ends Kuadrant's operator; what it generated stays. One that had ended by itself
// is an error.
func (k *Kuadrant) Stop() error { return errors.Join(k.stop(), k.operators.Stop()) }

// awaitReady returns when the Kuadrant object says that everything is there.
func (k *Kuadrant) awaitReady(ctx context.Context, admin client.Client) error {
	said := "nothing"
	err := wait.PollUntilContextTimeout(ctx, kuadrantReadyPoll, kuadrantReadyTimeout, true, func(ctx context.Context) (bool, error) {
		if err := k.Err(); err != nil {
			return false, err
		}
		object := kuadrantObject()
		if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		conditions, err := status.Conditions(object)
		if c := meta.FindStatusCondition(conditions, "Ready"); c != nil {
			said = c.Reason + ": " + c.Message
		}
		return meta.IsStatusConditionTrue(conditions, "Ready"), err
	})
	if err != nil {
		return fmt.Errorf("wait until Kuadrant is ready: %w; it says %s", err, said)
	}
	return nil
}

// secureListener says of Authorino's listener what an administrator has to say, because
// Kuadrant leaves its TLS off: the product demands it. Gateways are not here, and
// [Authorino.GRPC] is reached without.
func secureListener(ctx context.Context, admin client.Client) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(authorinoKind)
	object.SetNamespace(KuadrantNamespace)
	object.SetName("authorino")
	patch := `{"spec":{"listener":{"tls":{"enabled":true,"certSecretRef":{"name":"authorino-server-cert"}}}}}`
	if err := admin.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("set TLS of Authorino's listener: %w", err)
	}
	return nil
}

// served finds out about a kind that Kuadrant would not find.
func served(mapper meta.RESTMapper) error {
	var errs []error
	for _, kind := range []schema.GroupVersionKind{
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClass"},
		{Group: "kuadrant.io", Version: "v1beta1", Kind: "Kuadrant"},
		{Group: "kuadrant.io", Version: "v1", Kind: "AuthPolicy"},
		{Group: "kuadrant.io", Version: "v1alpha1", Kind: "TokenRateLimitPolicy"},
		authorinoKind,
		{Group: "authorino.kuadrant.io", Version: "v1beta3", Kind: "AuthConfig"},
		limitadorKind,
		// It takes Istio for installed only when all of these are.
		{Group: "extensions.istio.io", Version: "v1alpha1", Kind: "WasmPlugin"},
		{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"},
		{Group: "security.istio.io", Version: "v1", Kind: "PeerAuthentication"},
	} {
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			errs = append(errs, fmt.Errorf("install its CRD first: %w", err))
		}
	}
	return errors.Join(errs...)
}

// installation is what an administrator creates.
func installation() []*unstructured.Unstructured {
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": map[string]any{"name": GatewayClass},
		"spec": map[string]any{"controllerName": "istio.io/gateway-controller"},
	}}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": KuadrantNamespace},
	}}
	return []*unstructured.Unstructured{class, namespace, kuadrantObject()}
}

func kuadrantObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kuadrant.io/v1beta1", "kind": "Kuadrant",
		"metadata": map[string]any{"namespace": KuadrantNamespace, "name": KuadrantName},
	}}
}
