// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts finds out what the cluster is: which APIs it serves, which
// platform it runs, which audience its tokens have. It tells "no" from "could not
// find out", because the first is a state to report and the second a reason to try
// again. It holds no knowledge of MaaS objects and writes nothing.
package facts
