// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "1", "B": "$(A)"}
	for text, want := range map[string]string{
		"":            "",
		"plain":       "plain",
		"x$(A)y":      "x1y",
		"$(A)$(A)":    "11",
		"$(B)":        "$(A)",
		"$(MISSING)":  "$(MISSING)",
		"$$(A)":       "$(A)",
		"$A ${A} 5$":  "$A ${A} 5$",
		"$(A":         "$(A",
		"sum=$$$(A)$": "sum=$1$",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestMountsAreRewrittenWherePathsBegin(t *testing.T) {
	t.Parallel()
	all, err := mounts(&corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "tmp", MountPath: "/tmp"},
		{Name: "tls", MountPath: "/etc/tls/"},
		{Name: "inner", MountPath: "/etc/tls/inner"},
		{Name: "part", MountPath: "/etc/part", SubPath: "a/b"},
	}}, func(name string) string { return "/tmp/here/" + name })
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"/etc/tls/tls.crt":                    "/tmp/here/tls/tls.crt",
		"--tls-cert=/etc/tls/tls.crt":         "--tls-cert=/tmp/here/tls/tls.crt",
		"/etc/ssl/certs:/etc/tls:/tmp":        "/etc/ssl/certs:/tmp/here/tls:/tmp/here/tmp",
		"/etc/tls/inner/x /etc/tls/innermost": "/tmp/here/inner/x /tmp/here/tls/innermost",
		"/etc/tls2 /a/etc/tls x/etc/tls":      "/etc/tls2 /a/etc/tls x/etc/tls",
		"cat '/etc/part'":                     "cat '/tmp/here/part/a/b'",
		"/etc/tls.old":                        "/etc/tls.old",
	} {
		if got := rewriteMounts(text, all); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestServicesAreRewritten(t *testing.T) {
	t.Parallel()
	find := func(s ServicePort) (string, bool) {
		return "127.0.0.1:1", s == ServicePort{Namespace: "infra", Name: "maas-api-red", Port: 8443}
	}
	for text, want := range map[string]string{
		"https://maas-api-red.infra.svc:8443":                   "https://127.0.0.1:1",
		"--url=https://maas-api-red.infra.svc:8443/internal":    "--url=https://127.0.0.1:1/internal",
		"https://maas-api-red.infra.svc.cluster.local:8443/a":   "https://127.0.0.1:1/a",
		"https://maas-api.infra.svc:8443":                       "https://maas-api.infra.svc:8443",
		"https://maas-api-red.infra.svc:84430":                  "https://maas-api-red.infra.svc:84430",
		"maas-api-red.infra.svc,maas-api-red.other.svc:8443":    "maas-api-red.infra.svc,maas-api-red.other.svc:8443",
		"a maas-api-red.infra.svc:8443, maas-api-red.infra.svc": "a 127.0.0.1:1, maas-api-red.infra.svc",
	} {
		if got := rewriteServices(text, find); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestListenersOfMaaSAPI(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want map[string]int32
	}{
		"defaults":         {want: map[string]int32{"--address": 8080, "--metrics-address": 9090}},
		"a certificate":    {env: map[string]string{"TLS_CERT": "c", "METRICS_PORT": "9091"}, want: map[string]int32{"--address": 8443, "--metrics-address": 9091}},
		"secure":           {args: []string{"serve", "--secure"}, want: map[string]int32{"--address": 8443, "--metrics-address": 9090}},
		"other addresses":  {args: []string{"--address", ":1", "--metrics-address=0.0.0.0:2"}, want: map[string]int32{"--address": 1, "--metrics-address": 2}},
		"one for internal": {env: map[string]string{"INTERNAL_ADDRESS": ":3"}, want: map[string]int32{"--address": 8080, "--metrics-address": 9090, "--internal-address": 3}},
		"a job":            {args: []string{"revoke", "--tenant", "a"}, want: map[string]int32{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]int32{}
			for _, l := range MaaSAPI("p").Listen(Line{Args: tc.args, Env: tc.env}) {
				got[l.Flag] = l.Port
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettingsAreDroppedWithTheirValues(t *testing.T) {
	t.Parallel()
	line := Line{
		Args: []string{"serve", "--a=1", "--b", "2", "--c", "--a", "-x", "--d"},
		Env:  map[string]string{"A": "1", "B": "2"},
	}
	got := line.without([]string{"--a", "--b", "A"})
	want := Line{Args: []string{"serve", "--c", "-x", "--d"}, Env: map[string]string{"B": "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// contents are Secrets and ConfigMaps by their names.
type contents struct{ secrets, maps map[string]map[string][]byte }

func (c contents) secret(name string) (map[string][]byte, error) {
	return lookUp(c.secrets, "secrets", name)
}

func (c contents) configMap(name string) (map[string][]byte, error) {
	return lookUp(c.maps, "configmaps", name)
}

func lookUp(all map[string]map[string][]byte, kind, name string) (map[string][]byte, error) {
	if values, found := all[name]; found {
		return values, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func someContents() contents {
	return contents{
		secrets: map[string]map[string][]byte{"s": {"k": []byte("secret")}},
		maps:    map[string]map[string][]byte{"m": {"k": []byte("map"), "l": []byte("other")}},
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", Labels: map[string]string{"a/b": "c"}}}
	secretKey := func(name, key string, optional bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
		}}
	}
	fieldRef := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	c := &corev1.Container{
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("64Mi"), corev1.ResourceCPU: resource.MustParse("1500m"),
		}},
		EnvFrom: []corev1.EnvFromSource{{Prefix: "M_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}},
		Env: []corev1.EnvVar{
			{Name: "NAMESPACE", ValueFrom: fieldRef("metadata.namespace")},
			{Name: "BOTH", Value: "$(NAMESPACE)/$(M_k)"},
			{Name: "SECRET", ValueFrom: secretKey("s", "k", false)},
			{Name: "NONE", ValueFrom: secretKey("s", "missing", true)},
			{Name: "NEITHER", ValueFrom: secretKey("missing", "k", true)},
			{Name: "LABEL", ValueFrom: fieldRef("metadata.labels['a/b']")},
			{Name: "MEMORY", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
		},
	}
	got, err := environment(pod, c, someContents())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"M_k": "map", "M_l": "other", "NAMESPACE": "ns", "BOTH": "ns/map", "SECRET": "secret", "LABEL": "c", "MEMORY": "64", "CPU": "2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, source := range map[string]*corev1.EnvVarSource{
		"a missing Secret":    secretKey("missing", "k", false),
		"a missing key":       secretKey("s", "missing", false),
		"an unknown field":    fieldRef("spec.hostname"),
		"an unknown resource": {ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.ephemeral-storage"}},
	} {
		if _, err := environment(pod, &corev1.Container{Env: []corev1.EnvVar{{Name: "A", ValueFrom: source}}}, someContents()); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

func TestVolumesFollowWhatTheyShow(t *testing.T) {
	t.Parallel()
	from := someContents()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Items: []corev1.KeyToPath{{Key: "k", Path: "deep/k"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
			}}},
		}}}},
	}}}
	v := &volumes{
		dir: t.TempDir(), pod: pod, from: from, tokens: map[string][]byte{}, written: map[string]files{},
		token: func(context.Context, string) (string, error) { return "the token", nil },
	}
	show := func(want map[string]string) {
		t.Helper()
		if err := v.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for file, text := range want {
			got, err := os.ReadFile(filepath.Join(v.dir, "volumes", file))
			if (err != nil) != (text == "") || string(got) != text {
				t.Errorf("%s holds %q (%v), want %q", file, got, err, text)
			}
		}
	}
	show(map[string]string{"s/k": "secret", "all/token": "the token", "all/deep/k": "map", "all/namespace": "ns", "empty/k": ""})
	if err := os.WriteFile(filepath.Join(v.path("empty"), "kept"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	from.secrets["s"] = map[string][]byte{"other": []byte("changed")}
	show(map[string]string{"s/k": "", "s/other": "changed", "all/deep/k": "map", "empty/kept": "kept"})

	delete(from.secrets, "s")
	if err := v.sync(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret that is gone: %v", err)
	}
}

func TestVolumesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]corev1.VolumeSource{
		"a missing ConfigMap": {ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}}},
		"a missing key":       {Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{{Key: "missing", Path: "p"}}}},
		"another kind":        {HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
	} {
		v := &volumes{
			dir: t.TempDir(), from: someContents(), written: map[string]files{},
			pod: &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: source}}}},
		}
		if err := v.sync(t.Context()); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
