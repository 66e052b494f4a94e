// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlsprofile turns the TLS profile of an OpenShift cluster into parameters
// of Go's TLS. It owns the named profiles and the spellings of cipher suites; it
// is pure: reading the cluster's object is the work of package kube.
package tlsprofile

import (
	"crypto/tls"
	"errors"
	"slices"
)

// Parameters are what a listener offers.
type Parameters struct {
	// MinVersion is a version of package crypto/tls, never below TLS 1.2.
	MinVersion uint16
	// CipherSuites are those for TLS 1.2; nil means Go's own choice. The suites
	// of TLS 1.3 cannot be chosen.
	CipherSuites []uint16
}

// Equal tells whether two parameters are the same.
func (p Parameters) Equal(other Parameters) bool {
	return p.MinVersion == other.MinVersion && slices.Equal(p.CipherSuites, other.CipherSuites)
}

// AtLeast returns the parameters with a minimum version that is not below the
// given one.
func (p Parameters) AtLeast(version uint16) Parameters {
	p.MinVersion = max(p.MinVersion, version)
	return p
}

// HTTP2 tells whether HTTP/2 can be offered: it forbids the older suites, so one of
// the newer ones must be there.
func (p Parameters) HTTP2() bool {
	if p.CipherSuites == nil || p.MinVersion >= tls.VersionTLS13 {
		return true
	}
	return slices.ContainsFunc(p.CipherSuites, func(id uint16) bool { return slices.Contains(intermediateSuites(), id) })
}

// The names of profiles and of adherence in spec of APIServer/cluster.
const (
	typeOld          = "Old"
	typeIntermediate = "Intermediate"
	typeModern       = "Modern"
	typeCustom       = "Custom"
)

// Intermediate is the profile of clusters that choose none.
func Intermediate() Parameters {
	return Parameters{MinVersion: tls.VersionTLS12, CipherSuites: intermediateSuites()}
}

// FromAPIServer reads the object APIServer/cluster of config.openshift.io/v1. It
// returns the names of cipher suites that Go does not know beside the parameters.
// Components of which the cluster does not demand strict adherence stay with
// [Intermediate].
func FromAPIServer(object map[string]any) (Parameters, []string, error) {
	spec, _ := object["spec"].(map[string]any)
	switch adherence, _ := spec["tlsAdherence"].(string); adherence {
	case "", "NoOpinion", "LegacyAdheringComponentsOnly":
		return Intermediate(), nil, nil
	}
	profile, _ := spec["tlsSecurityProfile"].(map[string]any)
	switch name, _ := profile["type"].(string); name {
	case "", typeIntermediate:
		return Intermediate(), nil, nil
	case typeOld:
		// Its TLS 1.0 and 1.1 are left out: no client of this service needs them.
		return Parameters{MinVersion: tls.VersionTLS12, CipherSuites: append(intermediateSuites(), oldSuites()...)}, nil, nil
	case typeModern:
		return Parameters{MinVersion: tls.VersionTLS13}, nil, nil
	case typeCustom:
		custom, found := profile["custom"].(map[string]any)
		if !found {
			return Parameters{}, nil, errors.New("the custom TLS profile is missing")
		}
		return fromCustom(custom)
	default:
		return Parameters{}, nil, errors.New("the type of the TLS profile is unknown")
	}
}

func fromCustom(custom map[string]any) (Parameters, []string, error) {
	list, _ := custom["ciphers"].([]any)
	if len(list) == 0 {
		return Parameters{}, nil, errors.New("the custom TLS profile lists no ciphers")
	}
	version, _ := custom["minTLSVersion"].(string)
	minimum, err := parseVersion(version)
	if err != nil {
		return Parameters{}, nil, err
	}
	var unknown []string
	suites := []uint16{}
	for _, item := range list {
		name, _ := item.(string)
		id, kind := suite(name)
		switch {
		case kind == suiteUnknown:
			unknown = append(unknown, name)
		case kind == suiteTLS12 && !slices.Contains(suites, id):
			suites = append(suites, id)
		}
	}
	if len(suites) == 0 && minimum < tls.VersionTLS13 {
		// None of its suites of TLS 1.2 can be offered, so TLS 1.2 cannot be.
		minimum = tls.VersionTLS13
	}
	if len(suites) == 0 {
		suites = nil
	}
	return Parameters{MinVersion: minimum, CipherSuites: suites}, unknown, nil
}

func parseVersion(text string) (uint16, error) {
	switch text {
	case "", "VersionTLS10", "VersionTLS11", "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	default:
		return 0, errors.New("the least TLS version of the custom profile is unknown")
	}
}
