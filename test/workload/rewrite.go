// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mount is a directory, or a file, of a container and where it is here.
type mount struct{ inside, here string }

// mounts of a container, the most particular first. Those that need what a directory
// somewhere else cannot do are an error.
func mounts(c *corev1.Container, volumePath func(string) string) ([]mount, error) {
	all := make([]mount, 0, len(c.VolumeMounts))
	for _, m := range c.VolumeMounts {
		if m.SubPathExpr != "" {
			return nil, fmt.Errorf("volume mount %s: subPathExpr is not understood here", m.Name)
		}
		all = append(all, mount{inside: path.Clean(m.MountPath), here: filepath.Join(volumePath(m.Name), m.SubPath)})
	}
	slices.SortFunc(all, func(a, b mount) int { return cmp.Compare(len(b.inside), len(a.inside)) })
	return all, nil
}

// rewriteMounts replaces mount paths, and the beginnings of paths below them, where a
// path can begin; not parts of other paths or names. What was replaced is not looked
// at again: the directories here may lie below a mount path.
func rewriteMounts(text string, all []mount) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		m, found := mountAt(text, i, all)
		if !found {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(m.here)
		i += len(m.inside)
	}
	return out.String()
}

// mountAt is the mount whose path stands at a position of a text.
func mountAt(text string, at int, all []mount) (mount, bool) {
	if at > 0 && partOfPath(text[at-1]) {
		return mount{}, false
	}
	for _, m := range all {
		if after, ok := strings.CutPrefix(text[at:], m.inside); ok && (after == "" || after[0] == '/' || !partOfPath(after[0])) {
			return m, true
		}
	}
	return mount{}, false
}

func partOfPath(c byte) bool {
	return c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// serviceName matches a port of a Service as the cluster's DNS knows it.
var serviceName = regexp.MustCompile(`\b([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\.([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\.svc(?:\.cluster\.local)?:([0-9]{1,5})\b`)

// rewriteServices replaces Services by addresses; one that find does not know stays.
func rewriteServices(text string, find func(ServicePort) (string, bool)) string {
	return serviceName.ReplaceAllStringFunc(text, func(found string) string {
		parts := serviceName.FindStringSubmatch(found)
		port, err := strconv.ParseUint(parts[3], 10, 16)
		if err != nil {
			return found
		}
		if address, ok := find(ServicePort{Namespace: parts[2], Name: parts[1], Port: int32(port)}); ok {
			return address
		}
		return found
	})
}
