// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle computes once more, in the plainest way, what the operator
// should have made of the objects in a cluster, and compares it with what is
// there: the generated policies and the statuses of models, auth policies and
// subscriptions. It is written from the documented rules alone: it must not
// import the packages that the operator decides with, nor share helpers with
// them, so that a mistake has to be made twice to go unnoticed.
//
// Some things depend on how a state was reached. There it accepts what the rules
// allow: policies stay as they are while their model has no route or no known
// tenant, and a suffix -id that was given once stays. What only a history can
// tell, such as what a policy was when it was taken out of the operator's hands,
// the caller says.
package oracle
