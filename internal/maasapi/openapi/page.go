// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"embed"
	"fmt"
	"net/http"

	"github.com/swaggest/swgui/v5/static"
)

//go:embed page
var pageFiles embed.FS

const typeScript = "text/javascript; charset=utf-8"

// contentSecurityPolicy lets the page load what this server serves and nothing
// else. Swagger UI draws some of its icons from data URLs and sets styles on
// single elements.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page holds everything that a browser loads to show the document.
type page struct {
	index  content
	assets map[string]content
}

// newPage collects the embedded files. Of Swagger UI only what the page refers
// to is served: its own index page and its bar for other documents are not.
func newPage() (page, error) {
	p := page{assets: make(map[string]content)}
	var err error
	if p.index, err = readFile(pageFiles, "page/index.html", "text/html; charset=utf-8"); err != nil {
		return page{}, err
	}
	if p.assets["docs.js"], err = readFile(pageFiles, "page/docs.js", typeScript); err != nil {
		return page{}, err
	}
	for name, kind := range map[string]string{
		"swagger-ui.css":       "text/css; charset=utf-8",
		"swagger-ui-bundle.js": typeScript,
		"favicon-32x32.png":    "image/png",
	} {
		if p.assets[name], err = readFile(static.FS, name, kind); err != nil {
			return page{}, err
		}
	}
	return p, nil
}

// readFile reads an embedded file, or else its packed form.
func readFile(files embed.FS, name, kind string) (content, error) {
	body, err := files.ReadFile(name)
	if err == nil {
		return content{body: body, kind: kind, etag: etagOf(body)}, nil
	}
	body, err = files.ReadFile(name + ".gz")
	if err != nil {
		return content{}, fmt.Errorf("read embedded file: %w", err)
	}
	return content{body: body, kind: kind, etag: etagOf(body), packed: true}, nil
}

func (p page) serveIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", contentSecurityPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	serve(w, r, p.index)
}

func (p page) serveAsset(w http.ResponseWriter, r *http.Request) {
	asset, ok := p.assets[r.PathValue("asset")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	serve(w, r, asset)
}
