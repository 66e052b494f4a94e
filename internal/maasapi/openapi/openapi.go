// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

//go:embed openapi.yaml
var public string

//go:embed openapi-internal.yaml
var internal string

// Spec returns the description of the public routes as it was written, in YAML.
func Spec() []byte { return []byte(public) }

// InternalSpec is [Spec] for the internal routes.
func InternalSpec() []byte { return []byte(internal) }

// Document is the public description, ready to be served.
type Document struct {
	json []byte
	etag string
	page page
}

// New prepares the document and the page. It fails only if the embedded files
// are broken.
func New() (*Document, error) {
	encoded, err := yaml.YAMLToJSONStrict([]byte(public))
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	page, err := newPage()
	if err != nil {
		return nil, err
	}
	return &Document{json: encoded, etag: etagOf(encoded), page: page}, nil
}

// JSON returns the document in JSON.
func (d *Document) JSON() []byte { return bytes.Clone(d.json) }

// Routes returns the routes that show the document: it and the page that renders
// it, which need no identity.
func (d *Document) Routes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/openapi.json", Handler: http.HandlerFunc(d.serveJSON)},
		{Method: http.MethodGet, Pattern: "/docs", Handler: http.HandlerFunc(d.page.serveIndex)},
		{Method: http.MethodGet, Pattern: "/docs/{asset}", Handler: http.HandlerFunc(d.page.serveAsset)},
	}
}

func (d *Document) serveJSON(w http.ResponseWriter, r *http.Request) {
	serve(w, r, content{body: d.json, kind: "application/json; charset=utf-8", etag: d.etag})
}

// content is a file to serve.
type content struct {
	body []byte
	kind string
	etag string
	// packed says that body is compressed by gzip.
	packed bool
}

// serve answers with the content, or 304 if the client has it already. Whoever
// keeps it asks again before each use: a new release changes it in place.
func serve(w http.ResponseWriter, r *http.Request, c content) {
	header := w.Header()
	header.Set("Etag", c.etag)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Content-Type-Options", "nosniff")
	if c.packed {
		header.Set("Vary", "Accept-Encoding")
	}
	if matches(r.Header.Get("If-None-Match"), c.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", c.kind)
	var body io.Reader = bytes.NewReader(c.body)
	if c.packed && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
	} else if c.packed {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		body = unpacked
	}
	_, _ = io.Copy(w, body) // The client is gone; there is nobody to tell.
}

// matches tells whether an If-None-Match header names the tag.
func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") || candidate == "*" {
			return true
		}
	}
	return false
}

// acceptsGzip tells whether an Accept-Encoding header names gzip and does not
// refuse it by a weight of zero.
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, weighted := strings.Cut(coding, ";q=")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			value, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			return !weighted || err == nil && value > 0
		}
	}
	return false
}

// etagOf returns a weak tag: one file may be sent packed or not.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
