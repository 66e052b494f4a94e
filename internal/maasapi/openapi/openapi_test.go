// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/openapi"
)

// newMux serves the routes as the service does.
func newMux(t *testing.T) *http.ServeMux {
	t.Helper()
	document, err := openapi.New()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, route := range document.Routes() {
		mux.Handle(route.Method+" "+route.Pattern, route.Handler)
	}
	return mux
}

func get(t *testing.T, mux http.Handler, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	mux.ServeHTTP(recorder, request)
	return recorder
}

func TestServedJSONIsTheDocument(t *testing.T) {
	t.Parallel()
	var want, got any
	if err := yaml.UnmarshalStrict(openapi.Spec(), &want); err != nil {
		t.Fatal(err)
	}
	answer := get(t, newMux(t), "/openapi.json", nil)
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("served document (-want +got):\n%s", diff)
	}
	if kind := answer.Header().Get("Content-Type"); kind != "application/json; charset=utf-8" {
		t.Errorf("Content-Type = %q", kind)
	}
}

func TestCallersCannotChangeTheDocument(t *testing.T) {
	t.Parallel()
	document, err := openapi.New()
	if err != nil {
		t.Fatal(err)
	}
	clear(document.JSON())
	clear(openapi.Spec())
	if document.JSON()[0] != '{' || openapi.Spec()[0] == 0 {
		t.Error("a caller's change shows")
	}
}

func TestUnchangedContentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	for _, path := range []string{"/openapi.json", "/docs", "/docs/swagger-ui.css"} {
		first := get(t, mux, path, nil)
		etag := first.Header().Get("Etag")
		if first.Code != http.StatusOK || etag == "" || first.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: status %d, headers %v", path, first.Code, first.Header())
		}
		for name, condition := range map[string]string{"same": etag, "listed": `"x", ` + etag, "any": "*"} {
			again := get(t, mux, path, map[string]string{"If-None-Match": condition})
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%s, %s: status %d with %d bytes, want 304 without", path, name, again.Code, again.Body.Len())
			}
		}
		if other := get(t, mux, path, map[string]string{"If-None-Match": `"x"`}); other.Code != http.StatusOK {
			t.Errorf("%s with another tag: status %d", path, other.Code)
		}
	}
}

// references returns what the page loads or links to.
func references(t *testing.T, page string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			if attribute.Key == "src" || attribute.Key == "href" {
				found = append(found, attribute.Val)
			}
		}
		if node.Data == "script" && node.FirstChild != nil || node.Data == "style" {
			t.Errorf("the page has a script or style of its own: %+v", node.Attr)
		}
	}
	return found
}

func TestThePageLoadsEverythingFromHere(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	page := get(t, mux, "/docs", nil)
	found := references(t, page.Body.String())
	if len(found) < 4 {
		t.Errorf("the page refers to %v", found)
	}
	for _, reference := range found {
		// Relative, so that the page also works behind a prefix.
		if strings.HasPrefix(reference, "/") || strings.Contains(reference, ":") {
			t.Errorf("the page refers to %s", reference)
		}
		if answer := get(t, mux, "/"+reference, nil); answer.Code != http.StatusOK || answer.Body.Len() == 0 {
			t.Errorf("%s: status %d with %d bytes", reference, answer.Code, answer.Body.Len())
		}
	}
}

// Swagger UI's own files mention addresses, in texts and name spaces. The policy
// is what keeps the browser from fetching them.
func TestThePageMayLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	page := get(t, mux, "/docs", nil)
	policy := page.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("the policy allows by default: %s", policy)
	}
	for directive := range strings.SplitSeq(policy, "; ") {
		name, sources, _ := strings.Cut(directive, " ")
		for source := range strings.FieldsSeq(sources) {
			switch source {
			case "'none'", "'self'":
			case "data:":
				if name != "img-src" {
					t.Errorf("%s allows data", name)
				}
			case "'unsafe-inline'":
				if name != "style-src" {
					t.Errorf("%s allows inline code", name)
				}
			default:
				t.Errorf("%s allows %s", name, source)
			}
		}
	}
}

func TestStylesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	styles := get(t, newMux(t), "/docs/swagger-ui.css", nil).Body.String()
	for _, match := range regexp.MustCompile(`(?:@import|url\()\s*['"]?([^'")\s]*)`).FindAllStringSubmatch(styles, -1) {
		if !strings.HasPrefix(match[1], "data:") {
			t.Errorf("the style sheet loads %s", match[1])
		}
	}
}

func TestOwnScriptNamesNoOtherAddress(t *testing.T) {
	t.Parallel()
	script := get(t, newMux(t), "/docs/docs.js", nil).Body.String()
	if !strings.Contains(script, `url: "openapi.json"`) {
		t.Error("the script does not show the document")
	}
	if strings.Contains(script, "://") {
		t.Error("the script names another address")
	}
}

func TestPackedFilesAreUnpackedForClientsWithoutGzip(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	const path = "/docs/swagger-ui-bundle.js"
	packed := get(t, mux, path, map[string]string{"Accept-Encoding": "br, gzip;q=0.5"})
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers = %v, want gzip", packed.Header())
	}
	reader, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]map[string]string{
		"silent client": nil, "refusing client": {"Accept-Encoding": "gzip;q=0, *"}, "client that weighs wrongly": {"Accept-Encoding": "gzip;q=x"},
	} {
		plain := get(t, mux, path, header)
		if plain.Header().Get("Content-Encoding") != "" || plain.Body.String() != string(want) {
			t.Errorf("%s: got %d bytes in coding %q, want the %d of the script",
				name, plain.Body.Len(), plain.Header().Get("Content-Encoding"), len(want))
		}
	}
}

func TestFilesThePageDoesNotNeedAreNotServed(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	for _, name := range []string{"index.html", "oauth2-redirect.html", "swagger-ui-standalone-preset.js", "swagger-ui.css.gz", "..%2fopenapi.yaml"} {
		if answer := get(t, mux, "/docs/"+name, nil); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", name, answer.Code)
		}
	}
}

func TestNoRouteOfTheDocumentIsInternalOrNeedsIdentity(t *testing.T) {
	t.Parallel()
	mux := newMux(t)
	for _, path := range []string{"/openapi.json", "/docs", "/docs/favicon-32x32.png"} {
		if answer := get(t, mux, path, nil); answer.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
	if strings.Contains(string(openapi.Spec()), "/internal/") {
		t.Error("the served document mentions internal paths")
	}
	if !strings.Contains(string(openapi.InternalSpec()), "/internal/v1/api-keys/validate") {
		t.Error("the internal document does not describe the callback")
	}
}
