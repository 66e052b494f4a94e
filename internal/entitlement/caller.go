// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import "strings"

const (
	// AuthenticatedGroup is the group of every caller whose identity is known.
	AuthenticatedGroup = "system:authenticated"
	// SystemPrefix starts the names of users and groups that only the cluster
	// itself gives out.
	SystemPrefix = "system:"
	// SafeGroupPattern is what names of groups must match to be passed on. It has
	// no comma and no quote, so that joined names stay unambiguous.
	SafeGroupPattern = "^[A-Za-z0-9:._/-]+$"
)

// Caller is who asks, as the gateway found out. The zero Caller is nobody.
type Caller struct {
	username     string
	groups       []string
	key          bool
	subscription string
}

// FromToken is the caller of a token that the cluster reviewed. It is also the
// caller of a selection callback: the gateway has refused what it had to and
// sends the subscription of an API key as the requested one, which leads to the
// same answer as [FromKey].
func FromToken(username string, groups []string) (Caller, error) {
	if username == "" {
		return Caller{}, Refusal{Code: CodeBadRequest, Message: noUsername}
	}
	return Caller{username: username, groups: Groups(groups)}, nil
}

// FromOIDC is the caller of a token of an external identity provider. Nobody
// outside the cluster may pass for one of its service accounts or members of
// its groups: a username that starts with system: is refused here as it is at
// the gateway, and such groups are dropped.
func FromOIDC(username string, groups []string) (Caller, error) {
	if strings.HasPrefix(username, SystemPrefix) {
		return Caller{}, Refusal{Code: CodeAccessDenied, Message: systemUsername}
	}
	outside := make([]string, 0, len(groups))
	for _, group := range groups {
		if !strings.HasPrefix(group, SystemPrefix) {
			outside = append(outside, group)
		}
	}
	return FromToken(username, outside)
}

// FromKey is the caller of an API key: the user and groups it was minted for,
// and the subscription it is bound to, as a name that [ParseName] reads.
func FromKey(username string, groups []string, subscription string) (Caller, error) {
	c, err := FromToken(username, groups)
	if err != nil {
		return Caller{}, err
	}
	if subscription == "" {
		return Caller{}, Refusal{Code: CodeAccessDenied, Message: unboundKey}
	}
	c.key, c.subscription = true, subscription
	return c, nil
}

// Username is the name that owns keys and counts tokens.
func (c Caller) Username() string { return c.username }

// Groups are the caller's groups as [Groups] returns them. They must not be
// modified.
func (c Caller) Groups() []string { return c.groups }

// subjects counts what the caller may be matched by: the name and the groups.
func (c Caller) subjects() int { return 1 + len(c.groups) }

// Groups is the one list that feeds the group header, the selection and the
// subjects rule: system:authenticated first, then the given groups in their
// order without those outside the safe character set. It may be applied again
// without effect.
func Groups(groups []string) []string {
	out := make([]string, 1, 1+len(groups))
	out[0] = AuthenticatedGroup
	for _, group := range groups {
		if group != AuthenticatedGroup && SafeGroup(group) {
			out = append(out, group)
		}
	}
	return out
}

// SafeGroup tells whether a group matches [SafeGroupPattern]. Nobody is ever a
// member of one that does not.
func SafeGroup(group string) bool {
	for i := range len(group) {
		if !safeInGroup(group[i]) {
			return false
		}
	}
	return group != ""
}

func safeInGroup(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == ':' || c == '.' || c == '_' || c == '/' || c == '-'
}
