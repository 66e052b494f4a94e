// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// monitor is what the tests read of a ServiceMonitor or a PodMonitor.
type monitor struct {
	Spec struct {
		Selector          metav1.LabelSelector `json:"selector"`
		NamespaceSelector struct {
			Any        bool     `json:"any"`
			MatchNames []string `json:"matchNames"`
		} `json:"namespaceSelector"`
		Endpoints           []endpoint `json:"endpoints"`
		PodMetricsEndpoints []endpoint `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

type endpoint struct {
	Port        string `json:"port"`
	Path        string `json:"path"`
	Scheme      string `json:"scheme"`
	Relabelings []struct {
		SourceLabels []string `json:"sourceLabels"`
		Regex        string   `json:"regex"`
		TargetLabel  string   `json:"targetLabel"`
		Replacement  string   `json:"replacement"`
	} `json:"relabelings"`
	TLSConfig struct {
		ServerName string `json:"serverName"`
	} `json:"tlsConfig"`
}

// decode reads an object as a type.
func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var out T
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// monitorNamed is a monitor as rendered, and its only endpoint.
func monitorNamed(t *testing.T, name string) (monitor, endpoint) {
	t.Helper()
	objects, err := parts.Engine(t).RenderAll(requests(t))
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() == name && strings.HasSuffix(o.GetKind(), "Monitor")
	})
	if i < 0 {
		t.Fatalf("there is no monitor %s", name)
	}
	text, err := yaml.Marshal(objects[i].Object)
	if err != nil {
		t.Fatal(err)
	}
	m := decode[monitor](t, text)
	endpoints := slices.Concat(m.Spec.Endpoints, m.Spec.PodMetricsEndpoints)
	if len(endpoints) != 1 {
		t.Fatalf("%s has %d endpoints, want one", name, len(endpoints))
	}
	return m, endpoints[0]
}

// selects wants the monitor to select what has these labels.
func (m monitor) selects(t *testing.T, has map[string]string) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set(has)) {
		t.Errorf("the monitor wants labels %s, and there are %v", selector, has)
	}
}

func TestThePortOfMaaSAPIExists(t *testing.T) {
	t.Parallel()
	m, e := monitorNamed(t, "maas-api")
	i := 0
	for text := range strings.SplitSeq(read(t, root+"/test/golden/tenant/testdata/openshift-default/out.yaml"), "\n---\n") {
		d := decode[appsv1.Deployment](t, []byte(text))
		if d.Kind != "Deployment" {
			continue
		}
		i++
		pod := d.Spec.Template
		m.selects(t, pod.Labels)
		if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == e.Port }) {
			t.Errorf("the Pods of %s have no port %s", d.Name, e.Port)
		}
		if !slices.Contains(m.Spec.NamespaceSelector.MatchNames, d.Namespace) {
			t.Errorf("the monitor looks into %v, and %s is in %s", m.Spec.NamespaceSelector.MatchNames, d.Name, d.Namespace)
		}
		if pod.Labels[v1alpha1.LabelTenantInstance] != d.Name {
			t.Errorf("the Pods of %s have labels %v", d.Name, pod.Labels)
		}
	}
	if i == 0 {
		t.Fatal("the golden file has no Deployment")
	}
	source := "__meta_kubernetes_pod_label_" + strings.NewReplacer(".", "_", "/", "_", "-", "_").Replace(v1alpha1.LabelTenantInstance)
	if e.added(t, "maas_api") != source || e.added(t, "maas_pod") != "__meta_kubernetes_pod_name" {
		t.Errorf("relabelings are %+v, want %s as maas_api", e.Relabelings, source)
	}
}

// added is where a monitor takes a label of ours from: a label of the target, or a text.
func (e endpoint) added(t *testing.T, label string) string {
	t.Helper()
	for _, r := range e.Relabelings {
		switch {
		case r.TargetLabel != label:
		case len(r.SourceLabels) == 1 && r.Replacement == "":
			return r.SourceLabels[0]
		case len(r.SourceLabels) == 0:
			return r.Replacement
		}
	}
	t.Errorf("the monitor adds no label %s", label)
	return ""
}

// TestMonitorsSayWhatTheyRead looks for the label by which alerts tell that anything is
// read at all, and what.
func TestMonitorsSayWhatTheyRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"maas-api": "maas-api", "maas-controller-metrics": "maas-controller", "limitador-metrics": "limitador",
		"authorino-server-metrics": "authorino", "istio-gateway-metrics": "gateway",
	} {
		if _, e := monitorNamed(t, name); e.added(t, "maas_component") != want {
			t.Errorf("%s adds component %q, want %q", name, e.added(t, "maas_component"), want)
		}
	}
}

func TestThePortOfTheControllerExists(t *testing.T) {
	t.Parallel()
	m, e := monitorNamed(t, "maas-controller-metrics")
	service := decode[corev1.Service](t, []byte(read(t, root+"/config/manager/metrics_service.yaml")))
	m.selects(t, service.Labels)
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Name != e.Port {
		t.Fatalf("the monitor reads port %s, the Service has %+v", e.Port, service.Spec.Ports)
	}
	if e.TLSConfig.ServerName != service.Name+"."+service.Namespace+".svc" {
		t.Errorf("the monitor expects the certificate of %s, the Service is %s/%s", e.TLSConfig.ServerName, service.Namespace, service.Name)
	}
	manager := decode[appsv1.Deployment](t, []byte(read(t, root+"/config/manager/manager.yaml")))
	container := manager.Spec.Template.Spec.Containers[0]
	if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal }) {
		t.Errorf("the operator's Pods have ports %+v, the Service wants %s", container.Ports, service.Spec.Ports[0].TargetPort.StrVal)
	}
	if !slices.Contains(container.Args, "--metrics-secure=true") || e.Scheme != "https" {
		t.Errorf("the monitor reads with %s, the operator's arguments are %v", e.Scheme, container.Args)
	}
}

// texts are the string constants in a function of a module, or in a whole file.
func texts(t *testing.T, module, file, function string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(directory(t, module), file), nil, 0)
	if err != nil {
		t.Fatalf("parse %s of %s: %v", file, module, err)
	}
	var found []string
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); function != "" && (!ok || f.Name.Name != function) {
			continue
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Errorf("read %s: %v", literal.Value, err)
				}
				found = append(found, text)
			}
			return true
		})
	}
	return found
}

// TestThePortOfLimitadorExists looks at the Service that Limitador's operator makes.
func TestThePortOfLimitadorExists(t *testing.T) {
	t.Parallel()
	const module = "github.com/kuadrant/limitador-operator"
	m, e := monitorNamed(t, "limitador-metrics")
	if !m.Spec.NamespaceSelector.Any {
		t.Error("the monitor does not look into all namespaces")
	}
	if ports := texts(t, module, "pkg/limitador/k8s_objects.go", "Service"); !slices.Contains(ports, e.Port) {
		t.Errorf("the Service has %v, and no port %s", ports, e.Port)
	}
	keys := texts(t, module, "pkg/helpers/helpers.go", "")
	for key, value := range m.Spec.Selector.MatchLabels {
		if !slices.Contains(keys, key) || !slices.Contains(texts(t, module, "pkg/limitador/k8s_objects.go", "Labels"), value) {
			t.Errorf("the Service has no label %s=%s", key, value)
		}
	}
}

// TestThePortOfAuthorinoExists looks at the Service that Authorino's operator makes: it
// gets the labels of the Authorino, and Kuadrant gives that none.
func TestThePortOfAuthorinoExists(t *testing.T) {
	t.Parallel()
	m, e := monitorNamed(t, "authorino-server-metrics")
	made := texts(t, "github.com/kuadrant/authorino-operator", "pkg/resources/k8s_services.go", "NewMetricsService")
	if !slices.Contains(made, e.Port) {
		t.Errorf("the Service has %v, and no port %s", made, e.Port)
	}
	if len(m.Spec.Selector.MatchLabels) > 0 {
		t.Errorf("the monitor wants labels %v of a Service that has none", m.Spec.Selector.MatchLabels)
	}
	keep := regexp.MustCompile("^(?:" + e.Relabelings[0].Regex + ")$")
	for _, suffix := range made {
		if suffix != e.Port && !keep.MatchString("authorino-"+suffix) {
			t.Errorf("the monitor does not keep Service authorino-%s", suffix)
		}
	}
	for _, function := range []string{"NewAuthService", "NewOIDCService"} {
		for _, other := range texts(t, "github.com/kuadrant/authorino-operator", "pkg/resources/k8s_services.go", function) {
			if keep.MatchString("authorino-" + other) {
				t.Errorf("the monitor keeps Service authorino-%s, which is another", other)
			}
		}
	}
	if !slices.Contains(texts(t, "github.com/kuadrant/authorino", "main.go", ""), e.Path) {
		t.Errorf("Authorino serves no %s", e.Path)
	}
}

// TestThePortOfGatewaysIsThatOfIstio compares with testdata/foreign.yaml: the template of
// a Gateway's Pods is in no module of this build.
func TestThePortOfGatewaysIsThatOfIstio(t *testing.T) {
	t.Parallel()
	m, e := monitorNamed(t, "istio-gateway-metrics")
	for _, f := range foreign(t) {
		if f.Port == "" {
			continue
		}
		m.selects(t, f.Pods)
		if e.Port != f.Port || e.Path != f.Path || !slices.Equal(m.Spec.NamespaceSelector.MatchNames, []string{"openshift-ingress"}) {
			t.Errorf("the monitor reads %s on %s of %v, want %s on %s", e.Path, e.Port, m.Spec.NamespaceSelector.MatchNames, f.Path, f.Port)
		}
		return
	}
	t.Error("testdata/foreign.yaml lists no port")
}
