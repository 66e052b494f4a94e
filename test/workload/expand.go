// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import "strings"

// expand replaces $(NAME) by the value of a variable and $$ by $, as Kubernetes does
// in commands, arguments and variables. What names no variable stays.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "("):
			name, rest, closed := strings.Cut(after[1:], ")")
			value, known := env[name]
			switch {
			case !closed:
				out.WriteString("$(")
				text = after[1:]
			case known:
				out.WriteString(value)
				text = rest
			default:
				out.WriteString("$(" + name + ")")
				text = rest
			}
		default:
			out.WriteByte('$')
			text = after
		}
	}
}
