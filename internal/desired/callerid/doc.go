// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callerid writes the CEL expressions that read from one request who is
// calling, the same for every generated AuthPolicy: what a credential is, whose it
// is, and the rules about it that hold everywhere. Which policy has which of them
// is for the packages to decide that write policies.
//
// A missing, null or oddly typed optional field yields an empty value, never an
// error: Authorino skips an evaluator whose condition is an error. Where a whole
// reply is of the wrong shape the rules are errors, and so deny.
//
// Until the caller is authenticated the expressions look at headers. From then on
// they look at the identity: that of an API key is the header it stands in, a
// string, and only the two key authenticators yield strings; that of a token is an
// object: claims, which have an issuer, or the status of a TokenReview, which has
// none. So what follows from the kind of credential follows from the authenticator
// that accepted it.
package callerid
