// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// visitReport is what came of a visit.
type visitReport struct {
	Calls []callReport
	// Engines tells whether the engines carried the policies out.
	Engines bool
}

// callReport is one call.
type callReport struct {
	What, Asked, Request string
	Status               int
	Took                 time.Duration
	Answer               string
}

// renderVisit writes the calls as a table for a person, and what in it is not real.
func renderVisit(w io.Writer, r visitReport) error {
	if err := renderCalls(w, r); err != nil {
		return err
	}
	if r.Engines {
		_, err := fmt.Fprint(w, `
Real: the Kubernetes API and its controllers, maas-controller, maas-api as its
Deployment says, PostgreSQL, Kuadrant's operator, Authorino and an OpenID Connect
provider. Stand-ins: nodes, cert-manager, KServe; the gateway with its limiter, which
do what the configuration says that Kuadrant generates, tokens counted, and have no
rule of their own. The model is a simulator that repeats what it is told.
`)
		return err
	}
	_, err := fmt.Fprint(w, `
Real: the Kubernetes API and its controllers, maas-controller, maas-api as its
Deployment says, PostgreSQL. Stand-ins: nodes and cert-manager; Kuadrant's controllers
and KServe report status only; the gateway routes and asks maas-api about keys and
subscriptions as a real one would, but COUNTS NO TOKENS: no limit above is enforced.
The model is a simulator that repeats what it is told.
`)
	return err
}

// renderCalls writes the calls as a table for a person.
func renderCalls(w io.Writer, r visitReport) error {
	fmt.Fprintf(w, "%s of group %s, with a token, then with the API key made for it; one call each, connections open:\n\n", callerName, callerGroup)
	calls := &block{indent: "  ", header: []string{"CALL", "STATUS", "TIME", "ASKED", "REQUEST", "ANSWER"}, none: "no calls"}
	for _, c := range r.Calls {
		calls.row(c.What, strconv.Itoa(c.Status), milliseconds(c.Took), c.Asked, c.Request, c.Answer)
	}
	return calls.write(w)
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
}
