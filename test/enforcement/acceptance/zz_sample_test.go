package acceptance

import (
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

var _ = It("SAMPLE", func(ctx SpecContext) {
	s, err := stage.Start(ctx, stage.Options{
		Binary: binary, Tenants: true, Controllers: true, WithoutOperator: true, WithoutKuadrant: true, Log: os.Stderr,
		CRDs: append(engines.KuadrantCRDs(), testenv.MaaS, testenv.KServe, testenv.OpenShift),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.Stop)
	on := &installation{Stage: s}
	on.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
	})
	k, err := engines.StartKuadrant(ctx, engines.KuadrantOptions{Kubeconfig: on.Env.Kubeconfig(), Dir: "/tmp/c6/kuadrant", Out: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(k.Stop)
	Expect(s.Operator.Start(ctx)).To(Succeed())
	start := time.Now()
	for time.Since(start) < 3*time.Minute {
		on.dump(ctx)
		if st, err := on.ready(ctx, theDefault)(); st == "True Reconciled" {
			break
		} else {
			fmt.Fprintln(os.Stderr, st, err)
		}
		time.Sleep(3 * time.Second)
	}
	on.model(ctx, theDefault, granite)
	on.model(ctx, theDefault, free)
	on.create(ctx, subjects()[:2]...)
	on.create(ctx, subscriptions()[:4]...)
	for range 20 {
		time.Sleep(3 * time.Second)
		on.dump(ctx)
	}
}, NodeTimeout(startTimeout))

func (on *installation) dump(ctx SpecContext) {
	_ = os.MkdirAll("/tmp/c6/sample", 0o755)
	for _, k := range []string{"authorino.kuadrant.io/v1beta3 AuthConfig", "networking.istio.io/v1alpha3 EnvoyFilter", "limitador.kuadrant.io/v1alpha1 Limitador",
		"kuadrant.io/v1 AuthPolicy", "kuadrant.io/v1alpha1 TokenRateLimitPolicy", "gateway.networking.k8s.io/v1 Gateway", "gateway.networking.k8s.io/v1 HTTPRoute",
		"maas.opendatahub.io/v1alpha1 AITenant", "maas.opendatahub.io/v1alpha1 MaasTenantConfig", "maas.opendatahub.io/v1alpha1 MaaSSubscription", "maas.opendatahub.io/v1alpha1 MaaSModelRef"} {
		var api, kind string
		fmt.Sscan(k, &api, &kind)
		l := &unstructured.UnstructuredList{}
		l.SetAPIVersion(api)
		l.SetKind(kind + "List")
		if err := on.Admin.List(ctx, l); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		var out []byte
		for _, o := range l.Items {
			unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
			b, _ := yaml.Marshal(o.Object)
			out = append(append(out, "---\n"...), b...)
		}
		_ = os.WriteFile("/tmp/c6/sample/"+kind+".yaml", out, 0o644)
	}
}
