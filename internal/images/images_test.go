// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

const (
	maasAPI = "RELATED_IMAGE_ODH_MAAS_API_IMAGE"
	payload = "RELATED_IMAGE_ODH_AI_GATEWAY_PAYLOAD_PROCESSING_IMAGE"
	digest  = "quay.io/mirror/maas-api@sha256:f6713d327d37e654a443752e6654b5aab88f31690e1161eed9c34dd837870172"
)

// resolve calls Resolve as a process with the environment would.
func resolve(env map[string]string, release bool) (map[string]string, error) {
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	return images.Resolve(lookup, environ, release)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env     map[string]string
		release bool
		want    string
		errs    []string
	}{
		"a development build has an image of its own (E-126)": {want: "quay.io/opendatahub/maas-api:latest"},
		"an empty variable counts as not set":                 {env: map[string]string{maasAPI: ""}, want: "quay.io/opendatahub/maas-api:latest"},
		"the variable wins (E-126)":                           {env: map[string]string{maasAPI: digest}, want: digest},
		"a release takes the variable":                        {env: map[string]string{maasAPI: digest}, release: true, want: digest},
		"a release without it does not start":                 {release: true, errs: []string{maasAPI}},
		"a release with an empty one does not start":          {env: map[string]string{maasAPI: ""}, release: true, errs: []string{maasAPI}},
		"a reference without tag and digest":                  {env: map[string]string{maasAPI: "quay.io/a/b"}, errs: []string{maasAPI, "registry/path:tag"}},
		"a reference with white space":                        {env: map[string]string{maasAPI: " " + digest}, errs: []string{maasAPI}},
		"an optional image":                                   {env: map[string]string{payload: digest}, want: "quay.io/opendatahub/maas-api:latest"},
		"a release with an optional image":                    {env: map[string]string{payload: digest, maasAPI: digest}, release: true, want: digest},
		"its reference must be one all the same":              {env: map[string]string{payload: "latest"}, errs: []string{payload}},
		"an unknown variable":                                 {env: map[string]string{"RELATED_IMAGE_MAAS_API": digest}, errs: []string{"RELATED_IMAGE_MAAS_API", maasAPI}},
		"an unknown variable that is empty":                   {env: map[string]string{"RELATED_IMAGE_MAAS_API": ""}, want: "quay.io/opendatahub/maas-api:latest"},
		"a variable that only resembles one":                  {env: map[string]string{"MY_RELATED_IMAGE_X": "y"}, want: "quay.io/opendatahub/maas-api:latest"},
		"all problems at once": {
			env: map[string]string{"RELATED_IMAGE_X": "y", payload: "latest"}, release: true,
			errs: []string{"RELATED_IMAGE_X", payload + ":", maasAPI + ":"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := resolve(tc.env, tc.release)
			if len(tc.errs) == 0 {
				if err != nil {
					t.Fatalf("Resolve() error = %v", err)
				}
				want := map[string]string{
					"maas-api":           tc.want,
					"payload-processing": cmp.Or(tc.env[payload], "quay.io/opendatahub/ai-gateway-payload-processing:latest"),
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("Resolve() (-want +got):\n%s", diff)
				}
				return
			}
			if err == nil {
				t.Fatalf("Resolve() = %v, want an error", got)
			}
			for _, want := range tc.errs {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// Without its variable an optional image is not run, whatever its templates are checked
// with.
func TestConfigured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		key  string
		want bool
	}{
		"set":            {map[string]string{payload: digest}, "payload-processing", true},
		"not set":        {nil, "payload-processing", false},
		"empty":          {map[string]string{payload: ""}, "payload-processing", false},
		"another is set": {map[string]string{maasAPI: digest}, "payload-processing", false},
		"no such image":  {map[string]string{payload: digest}, "nothing", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lookup := func(name string) (string, bool) { value, ok := tc.env[name]; return value, ok }
			if got := images.Configured(lookup, tc.key); got != tc.want {
				t.Errorf("Configured(%q) = %t, want %t", tc.key, got, tc.want)
			}
		})
	}
}

func TestTheTableIsSound(t *testing.T) {
	t.Parallel()
	keys, variables := map[string]bool{}, map[string]bool{}
	for _, image := range images.Table() {
		if !strings.HasPrefix(image.Env, "RELATED_IMAGE_") || variables[image.Env] {
			t.Errorf("variable %q is listed twice, or tools that mirror images do not know it", image.Env)
		}
		if (image.Key == "") == (image.Note == "") || image.Component == "" || keys[image.Key] {
			t.Errorf("line %+v: want a component, and either a key of its own or a note", image)
		}
		if err := render.CheckImage(image.Development); image.Key != "" && err != nil {
			t.Errorf("development image of %s: %v", image.Key, err)
		}
		variables[image.Env], keys[image.Key] = true, image.Key != ""
	}
	resolved, err := resolve(nil, false)
	if err != nil {
		t.Fatalf("Resolve() error = %v", err)
	}
	if diff := gocmp.Diff(resolved, images.Development()); diff != "" {
		t.Errorf("Development() (-want +got):\n%s", diff)
	}
	delete(keys, "")
	if want := slices.Sorted(maps.Keys(keys)); !slices.Equal(want, slices.Sorted(maps.Keys(resolved))) {
		t.Errorf("Resolve() = %v, want the keys %v", resolved, want)
	}
}

// Packagers read the table where the other files of packaging are.
func TestPackagersFindTheTable(t *testing.T) {
	t.Parallel()
	embedded, err := os.ReadFile("images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../../hack/images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(embedded, shown) {
		t.Error("hack/images.yaml differs from internal/images/images.yaml, which the operator embeds")
	}
}

func TestTheDocumentListsAllVariables(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/operations/images.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range images.Table() {
		if !strings.Contains(string(content), "`"+image.Env+"`") {
			t.Errorf("docs/operations/images.md does not say what %s is", image.Env)
		}
	}
}
