// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
)

// selectReply is what maas-api said of the subscription, or what says nothing.
// The template uses the same key of the reply.
const selectReply = `has(auth.metadata) && "subscription-info" in auth.metadata ? auth.metadata["subscription-info"] : {}`

// selected is the variable that stands for the reply with the subscription.
const selected = "s"

// request writes the CEL expressions that read one inference request. Who is
// calling, package callerid reads; its rules about missing fields hold here too.
type request struct {
	credentials callerid.Credentials
	// model is the CEL literal of <namespace>/<name> of the MaaSModelRef.
	model string
	// edition names the set of subscriptions that have a limit: hexadecimal digits.
	edition string
}

// silent tells whether an optional field of a reply says nothing.
func silent(object, field string) string {
	path := object + "." + field
	return "(!has(" + path + ") || " + path + " in [\"\", null])"
}

func selectText(field string) string {
	return celtext.Let(selected, selectReply, callerid.Text(selected, field))
}
