// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
)

// resolverConfiguration is where a Pod finds how names are completed.
const resolverConfiguration = "/etc/resolv.conf"

// clusterDomain is what names of the cluster's Services end in, by the file that
// configures the resolver of this Pod: kubelets have names completed by
// "svc.<domain>". Empty when it does not say.
func clusterDomain(file string) string {
	text, err := os.ReadFile(file) //nolint:gosec // The name is this program's own.
	if err != nil {
		return "" // Outside of a cluster there may be none.
	}
	domain := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		domain = "" // The last of these lines counts.
		for _, suffix := range fields[1:] {
			if found, ok := strings.CutPrefix(suffix, "svc."); ok {
				domain = strings.TrimSuffix(found, ".")
			}
		}
	}
	return domain
}
