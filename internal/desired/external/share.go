// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Claim is what one model asks of what it shares with others.
type Claim struct {
	// Model is the ExternalModel's key.
	Model types.NamespacedName
	// Created is when it came to be: the oldest claim comes first.
	Created time.Time
	// Provider is how its provider is reached.
	Provider Provider
	// Target is its spec.targetModel.
	Target string
	// Governed tells that the default tenant's policies are about the model. Addressed
	// tells that its route has a rule for requests that name the target.
	Governed bool
	// Addressed is explained at Governed.
	Addressed bool
	// Leaving tells that the model is on its way out, and holds nothing any more once
	// another one does.
	Leaving bool
}

// Port is a port of a host.
type Port struct {
	Number int32
	TLS    bool
}

// Holder is the model that holds what the models of a host share. Among those that
// leave there is one, too, while nobody else wants the host. It returns false when no
// model has the host.
func Holder(host string, claims []Claim) (Claim, bool) {
	return first(claims, func(c Claim) bool { return c.Provider.Host == host }, staying)
}

// Addressee is the model that requests reach which name a target in a header. Two
// models of one target would both get them, or rather the one whose route is older. It
// takes an administrator's policy to be it: whoever may create ExternalModels could keep
// the name of a model from all others else. One that has them keeps them, for until another
// one's rule is guarded nobody would be served. It returns false when there is none.
func Addressee(target string, claims []Claim) (Claim, bool) {
	if !Addressable(target) {
		return Claim{}, false
	}
	return first(claims, func(c Claim) bool { return c.Target == target && (c.Governed || c.Addressed) }, governed)
}

// first is the oldest claim of the lowest rank.
func first(claims []Claim, of func(Claim) bool, rank func(Claim) int) (Claim, bool) {
	var found []Claim
	for _, c := range claims {
		if of(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return Claim{}, false
	}
	return slices.MinFunc(found, func(a, b Claim) int {
		return cmp.Or(rank(a)-rank(b), a.Created.Compare(b.Created), cmp.Compare(a.Model.Namespace, b.Model.Namespace), cmp.Compare(a.Model.Name, b.Model.Name))
	}), true
}

func staying(c Claim) int {
	if c.Leaving {
		return 1
	}
	return 0
}

// governed prefers those that stay to those that are governed, for a model on its way out
// serves nobody soon, and these to those that have the requests.
func governed(c Claim) int {
	rank := 4 * staying(c)
	if !c.Governed {
		rank += 2
	}
	if !c.Addressed {
		rank++
	}
	return rank
}

// Ports are the ports that the models of a host want, by number. Where one wants TLS
// and another does not, all get it: nobody's API key loses its protection to what
// somebody else has written.
func Ports(host string, claims []Claim) []Port {
	tls := map[int32]bool{}
	for _, c := range claims {
		if c.Provider.Host == host {
			tls[c.Provider.Port] = tls[c.Provider.Port] || c.Provider.TLS
		}
	}
	ports := make([]Port, 0, len(tls))
	for number, secure := range tls {
		ports = append(ports, Port{Number: number, TLS: secure})
	}
	slices.SortFunc(ports, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	return ports
}
