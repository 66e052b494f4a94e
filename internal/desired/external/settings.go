// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

const (
	defaultPort = 443
	maxPort     = 65535
)

// Provider is how the provider of a model is reached.
type Provider struct {
	// Host is its host, as it is compared.
	Host string
	// Port is its port.
	Port int32
	// TLS tells whether it is spoken to over TLS.
	TLS bool
	// PathPrefix is where its API begins: "/" or a path that does not end in "/"; empty
	// when paths are passed on as they are.
	PathPrefix string
}

// ProviderOf reads how the provider is reached. A field that is set counts; else an
// annotation of earlier releases; else the default. The error is an [apperr.UserError].
func ProviderOf(model *v1alpha1.ExternalModel) (Provider, error) {
	p := Provider{Host: Normal(model.Spec.Endpoint), Port: model.Spec.Port, TLS: true, PathPrefix: prefix(model.Spec.PathPrefix)}
	if text, ok := model.Annotations[v1alpha1.AnnotationPort]; ok && p.Port == 0 {
		port, err := strconv.ParseInt(text, 10, 32)
		if err != nil || port < 1 || port > maxPort {
			return Provider{}, apperr.Userf(v1alpha1.ReasonInvalidSpec,
				"The annotation %s is no number from 1 to %d: correct it, or remove it and set spec.port.", v1alpha1.AnnotationPort, maxPort)
		}
		p.Port = int32(port)
	}
	p.Port = cmp.Or(p.Port, defaultPort)
	text, annotated := model.Annotations[v1alpha1.AnnotationTLS]
	switch {
	case model.Spec.TLS != nil:
		p.TLS = *model.Spec.TLS
	case annotated:
		tls, err := strconv.ParseBool(text)
		if err != nil {
			return Provider{}, apperr.Userf(v1alpha1.ReasonInvalidSpec,
				"The annotation %s is neither true nor false: correct it, or remove it and set spec.tls.", v1alpha1.AnnotationTLS)
		}
		p.TLS = tls
	}
	return p, nil
}

// prefix takes off the slash at the end of a path, except for that of the root.
func prefix(path string) string {
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" || path == "" {
		return trimmed
	}
	return "/"
}
