// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsprofile_test

import (
	"crypto/tls"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
)

func apiServer(adherence string, profile map[string]any) map[string]any {
	spec := map[string]any{"tlsAdherence": adherence}
	if profile != nil {
		spec["tlsSecurityProfile"] = profile
	}
	return map[string]any{"spec": spec}
}

func custom(version string, ciphers ...any) map[string]any {
	return map[string]any{"type": "Custom", "custom": map[string]any{"minTLSVersion": version, "ciphers": ciphers}}
}

func TestFromAPIServer(t *testing.T) {
	t.Parallel()
	const strict = "StrictAllComponents"
	modern := map[string]any{"type": "Modern"}
	intermediate := tlsprofile.Intermediate()
	only := func(version uint16, suites ...uint16) tlsprofile.Parameters {
		return tlsprofile.Parameters{MinVersion: version, CipherSuites: suites}
	}
	for name, tc := range map[string]struct {
		object  map[string]any
		want    tlsprofile.Parameters
		unknown []string
		wantErr bool
	}{
		"adherence unset":                 {object: apiServer("", modern), want: intermediate},
		"no opinion":                      {object: apiServer("NoOpinion", modern), want: intermediate},
		"legacy adherence":                {object: apiServer("LegacyAdheringComponentsOnly", modern), want: intermediate},
		"strict":                          {object: apiServer(strict, modern), want: only(tls.VersionTLS13)},
		"an adherence yet to be invented": {object: apiServer("Stricter", modern), want: only(tls.VersionTLS13)},
		"strict without a profile":        {object: apiServer(strict, nil), want: intermediate},
		"no spec":                         {object: map[string]any{}, want: intermediate},
		"intermediate":                    {object: apiServer(strict, map[string]any{"type": "Intermediate"}), want: intermediate},
		"custom": {
			object: apiServer(strict, custom("VersionTLS12", "ECDHE-RSA-AES128-GCM-SHA256")),
			want:   only(tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
		},
		"both spellings, twice": {
			object: apiServer(strict, custom("", "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "AES128-SHA")),
			want:   only(tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA),
		},
		"suites of TLS 1.3 are always on": {
			object: apiServer(strict, custom("VersionTLS12", "TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256")),
			want:   only(tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
		},
		"unknown suites are left out": {
			object:  apiServer(strict, custom("VersionTLS12", "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256")),
			want:    only(tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
			unknown: []string{"DHE-RSA-AES128-GCM-SHA256"},
		},
		"no suite of TLS 1.2 means TLS 1.3":   {object: apiServer(strict, custom("VersionTLS12", "TLS_AES_128_GCM_SHA256")), want: only(tls.VersionTLS13)},
		"an old version is raised":            {object: apiServer(strict, custom("VersionTLS10", "AES128-SHA")), want: only(tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_CBC_SHA)},
		"TLS 1.3":                             {object: apiServer(strict, custom("VersionTLS13", "TLS_AES_128_GCM_SHA256")), want: only(tls.VersionTLS13)},
		"custom without its section":          {object: apiServer(strict, map[string]any{"type": "Custom"}), wantErr: true},
		"custom without ciphers":              {object: apiServer(strict, custom("VersionTLS12")), wantErr: true},
		"custom with an unknown version":      {object: apiServer(strict, custom("VersionTLS99", "AES128-SHA")), wantErr: true},
		"an unknown type":                     {object: apiServer(strict, map[string]any{"type": "Ancient"}), wantErr: true},
		"a cipher that is no text is unknown": {object: apiServer(strict, custom("", int64(1), "AES128-SHA")), want: only(tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_CBC_SHA), unknown: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, unknown, err := tlsprofile.FromAPIServer(tc.object)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unknown, unknown); diff != "" {
				t.Errorf("unknown suites (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOldProfileHasTheIntermediateOne(t *testing.T) {
	t.Parallel()
	old, _, err := tlsprofile.FromAPIServer(apiServer("StrictAllComponents", map[string]any{"type": "Old"}))
	if err != nil {
		t.Fatal(err)
	}
	intermediate := tlsprofile.Intermediate()
	if len(old.CipherSuites) <= len(intermediate.CipherSuites) || old.MinVersion != tls.VersionTLS12 {
		t.Errorf("parameters %+v", old)
	}
	if diff := cmp.Diff(intermediate.CipherSuites, old.CipherSuites[:len(intermediate.CipherSuites)]); diff != "" {
		t.Error(diff)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	weak := tlsprofile.Parameters{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}
	for name, tc := range map[string]struct {
		p    tlsprofile.Parameters
		want bool
	}{
		"the usual suites":        {tlsprofile.Intermediate(), true},
		"Go's choice":             {tlsprofile.Parameters{MinVersion: tls.VersionTLS12}, true},
		"suites HTTP/2 forbids":   {weak, false},
		"the same, never offered": {weak.AtLeast(tls.VersionTLS13), true},
	} {
		if got := tc.p.HTTP2(); got != tc.want {
			t.Errorf("%s: HTTP/2 is %v", name, got)
		}
	}
	if got := tlsprofile.Intermediate().AtLeast(tls.VersionTLS13).MinVersion; got != tls.VersionTLS13 {
		t.Errorf("minimum is %x", got)
	}
	if got := (tlsprofile.Parameters{MinVersion: tls.VersionTLS13}).AtLeast(tls.VersionTLS12).MinVersion; got != tls.VersionTLS13 {
		t.Errorf("minimum is %x", got)
	}
	if weak.Equal(tlsprofile.Intermediate()) || !weak.Equal(weak.AtLeast(tls.VersionTLS12)) {
		t.Error("Equal is wrong")
	}
}
