// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package values guards the contract with packagers who replace or patch
// templates: the ids of the templates and the types of the values they get, one
// file per contract version in testdata. What a version has offered stays; a
// test with -update adds to its file and never takes away. Until a version is
// part of a release its file may be removed and written anew.
package values
