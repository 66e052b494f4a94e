// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"strings"
)

const (
	groupNames = "should match '^[^\\x00-\\x1f\\x7f-\\x9f]*$'"
	uniqueRefs = "modelRefs must not name the same model (namespace and name) more than once"
)

func modelRefRules() []rule {
	const override = "spec.endpointOverride"
	return []rule{
		{
			kind: modelRef, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{modelRef: {kind: ExternalModel, name: gpt}}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.modelRef.kind and spec.modelRef.name",
		},
		{
			kind: modelRef, name: "name has at most 63 characters", field: "metadata.name", root: true,
			accepts: []any{strings.Repeat("m", 63), "granite-3.1-8b"},
			refuses: []any{strings.Repeat("m", 64), strings.Repeat("m", 253)},
			message: "the name of a MaaSModelRef must be at most 63 characters long, because policies and subscriptions refer to it and labels carry it",
		},
		{
			kind: modelRef, name: "endpointOverride is an https URL", field: override,
			accepts: []any{
				absent{},
				"", "https://h", "https://models.example.com:8443/llm/granite/", "https://[2001:db8::1]/x",
				"https://" + strings.Repeat("h", 2040),
			},
			refuses: []any{
				"http://models.example.com", "models.example.com", "ftp://x", "https://", "https:///path", "javascript:alert(1)",
				"https://user:secret@models.example.com", "https://h/?a=b", "https://h/#f", "https://h h/", "https://h/%zz",
			},
			message: "endpointOverride must be an https URL with a host and an optional path, without credentials, query or fragment, " +
				"for example https://models.example.com/llm/granite",
		},
		{
			kind: modelRef, name: "endpointOverride has at most 2048 characters", field: override, covers: []string{"maxLength=2048"},
			accepts: []any{"https://" + strings.Repeat("h", 2040)},
			refuses: []any{"https://" + strings.Repeat("h", 2041), strings.Repeat("x", 500_000)},
			message: "spec.endpointOverride: Too long: may not be more than 2048 bytes",
		},
		{
			kind: modelRef, name: "tenantRef is a DNS label", field: "spec.tenantRef", covers: []string{"pattern"},
			accepts: []any{absent{}, "red", "r", "red-2"},
			refuses: []any{"", "Red", "red.blue", "-red", "red-", "red\n"},
			message: "spec.tenantRef in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
		},
	}
}

func authPolicyRules() []rule {
	rows := []rule{
		{
			kind: authPolicy, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{modelRefs: [{name: granite, namespace: llm}], subjects: {users: [alice]}}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.modelRefs and spec.subjects",
		},
		{
			kind: authPolicy, name: "subjects name somebody", field: "spec.subjects",
			accepts: []any{y(`{users: [alice]}`), y(`{groups: [{name: a}]}`), y(`{groups: [], users: [alice]}`)},
			refuses: []any{y(`{}`), y(`{groups: []}`), y(`{users: []}`), y(`{groups: [], users: []}`)},
			message: "at least one group or user must be specified in subjects",
		},
		{
			kind: authPolicy, name: "at most 32 labels", field: "spec.meteringMetadata.labels", covers: []string{"maxProperties=32"},
			accepts: []any{labels(32)},
			refuses: []any{labels(33)},
			message: "spec.meteringMetadata.labels: Too many: 33: must have at most 32 items",
		},
	}
	rows = append(rows, modelRefListRules(authPolicy, ``)...)
	return append(rows, callerRules(authPolicy, "spec.subjects")...)
}

func subscriptionRules() []rule {
	rows := []rule{
		{
			kind: subscription, name: "spec must be there", field: "spec", root: true,
			accepts: []any{y(`{owner: {users: [bot]}, modelRefs: [{name: granite, namespace: llm, unlimited: true}]}`)},
			refuses: []any{absent{}},
			message: "spec is required: set spec.owner and spec.modelRefs",
		},
		{
			kind: subscription, name: "owner names somebody", field: "spec.owner",
			accepts: []any{y(`{users: [bot]}`), y(`{groups: [{name: a}]}`), y(`{groups: [], users: [bot]}`)},
			refuses: []any{y(`{}`), y(`{groups: []}`), y(`{users: []}`), y(`{groups: [], users: []}`)},
			message: "at least one group or user must be specified in owner",
		},
		{
			kind: subscription, name: "at most 32 labels", field: "spec.tokenMetadata.labels", covers: []string{"maxProperties=32"},
			accepts: []any{labels(32)},
			refuses: []any{labels(33)},
			message: "spec.tokenMetadata.labels: Too many: 33: must have at most 32 items",
		},
		{
			kind: subscription, name: "priority is not negative", field: "spec.priority", covers: []string{"minimum=0"},
			accepts: []any{absent{}, int64(0), int64(2147483647)},
			refuses: []any{int64(-1)},
			message: "spec.priority in body should be greater than or equal to 0",
		},
	}
	rows = append(rows, limitRules()...)
	rows = append(rows, modelRefListRules(subscription, `, unlimited: true`)...)
	return append(rows, callerRules(subscription, "spec.owner")...)
}

func limitRules() []rule {
	const (
		entry  = "spec.modelRefs[0]"
		limits = entry + ".tokenRateLimits"
		window = limits + "[0].window"
		price  = entry + ".billingRate.perToken"
	)
	return []rule{
		{
			kind: subscription, name: "unlimited or limits", field: entry,
			accepts: []any{
				y(`{name: granite, namespace: llm, unlimited: true}`),
				y(`{name: granite, namespace: llm, tokenRateLimits: [{limit: 1, window: 1s}]}`),
				y(`{name: granite, namespace: llm, unlimited: false, tokenRateLimits: [{limit: 1, window: 1s}]}`),
			},
			refuses: []any{
				y(`{name: granite, namespace: llm}`),
				y(`{name: granite, namespace: llm, unlimited: false}`),
				y(`{name: granite, namespace: llm, unlimited: true, tokenRateLimits: [{limit: 1, window: 1s}]}`),
			},
			message: "set either unlimited: true or at least one entry in tokenRateLimits, but not both",
		},
		{
			kind: subscription, name: "an empty list of limits is not unlimited", field: limits, covers: []string{"minItems=1"},
			accepts: []any{y(`[{limit: 1, window: 1s}]`)},
			refuses: []any{y(`[]`)},
			message: limits + " in body should have at least 1 items",
		},
		{
			kind: subscription, name: "at most 8 limits", field: limits, covers: []string{"maxItems=8"},
			accepts: []any{list(8, limit)},
			refuses: []any{list(9, limit), list(2000, limit)},
			message: "must have at most 8 items",
		},
		{
			kind: subscription, name: "limit is at most a billion", field: limits + "[0].limit", covers: []string{"maximum=1000000000"},
			accepts: []any{int64(1_000_000_000)},
			refuses: []any{int64(1_000_000_001), int64(9007199254740991)},
			message: limits + "[0].limit in body should be less than or equal to 1000000000",
		},
		{
			kind: subscription, name: "limit is at least 1", field: limits + "[0].limit", covers: []string{"minimum=1"},
			accepts: []any{int64(1)},
			refuses: []any{int64(0), int64(-5)},
			message: limits + "[0].limit in body should be greater than or equal to 1",
		},
		{
			kind: subscription, name: "window is digits and a unit", field: window,
			accepts: []any{"1s", "59m", "100m", "24h", "9999s", "9999m"},
			refuses: []any{
				"1d", "0m", "01h", "m", "1", "-1m", "1.5h", "1 h", "1h\n", "1h1m", "9M", "99999h", "9007199254740991d",
				"0s", "10000s", "12345s", "100ms", "1w", "1h30m", " 1m", "1m ",
			},
			message: "window must be 1 to 4 digits without leading zero followed by s, m or h, for example 30s, 1m or 24h " +
				"(there is no unit for days: write 24h)",
		},
		{
			kind: subscription, name: "window matches its pattern", field: window, covers: []string{"pattern"},
			accepts: []any{"1m"},
			refuses: []any{"1d"},
			message: window + ` in body should match '^[1-9]\d{0,3}(s|m|h)$'`,
		},
		{
			kind: subscription, name: "window is not longer than 366 days", field: window,
			accepts: []any{"8784h", "999h"},
			refuses: []any{"8785h", "9999h"},
			message: "window must be at most 366 days (8784h)",
		},
		{
			// Longer than a window can be, so that a long one is refused by the rule that
			// says what a window looks like.
			kind: subscription, name: "window has at most 32 characters", field: window, covers: []string{"maxLength=32"},
			accepts: []any{"1234s"},
			refuses: []any{strings.Repeat("1", 33), strings.Repeat("1", 200_000)},
			message: window + ": Too long: may not be more than 32 bytes",
		},
		{
			kind: subscription, name: "price is a decimal", field: price,
			accepts: []any{"0", "0.0000025", "12", "12.50", "0." + strings.Repeat("1", 30)},
			refuses: []any{"-1", "+1", "1e-6", "NaN", "Infinity", "$1", "1,5", ".5", "1.", "00.1", " 1", "free", "0x1"},
			message: "perToken must be a decimal number such as 0.0000025, without sign, exponent or currency",
		},
		{
			kind: subscription, name: "price has at most 32 characters", field: price, covers: []string{"maxLength=32"},
			accepts: []any{"0." + strings.Repeat("1", 30)},
			refuses: []any{"0." + strings.Repeat("1", 31), strings.Repeat("1", 200_000)},
			message: price + ": Too long: may not be more than 32 bytes",
		},
	}
}

// modelRefListRules are the rules of spec.modelRefs, the same in policies and
// subscriptions but for what else an entry needs.
func modelRefListRules(k kind, more string) []rule {
	entry := func(name, namespace string) any {
		return y(fmt.Sprintf(`{name: %q, namespace: %q%s}`, name, namespace, more))
	}
	distinct := func(i int) any { return entry(fmt.Sprintf("model-%d", i), "llm") }
	// The dearest list for the uniqueness rule: long names that differ at the end.
	dearest := func(i int) any {
		return entry(fmt.Sprintf("%s-%03d", strings.Repeat("m", 59), i), strings.Repeat("n", 63))
	}
	return []rule{
		{
			kind: k, name: "models are listed once", field: "spec.modelRefs",
			accepts: []any{
				[]any{entry("a", "x"), entry("a", "y"), entry("b", "x")},
				list(128, dearest),
			},
			refuses: []any{
				[]any{entry("a", "x"), entry("b", "x"), entry("a", "x")},
				list(128, func(int) any { return entry(strings.Repeat("m", 63), strings.Repeat("n", 63)) }),
			},
			message: uniqueRefs,
		},
		{
			kind: k, name: "at most 128 models", field: "spec.modelRefs", covers: []string{"maxItems=128"},
			accepts: []any{list(128, distinct)},
			refuses: []any{list(129, distinct), list(2000, dearest)},
			message: "must have at most 128 items",
		},
	}
}

// callerRules are the rules of groups and users, the same in policies and
// subscriptions.
func callerRules(k kind, parent string) []rule {
	var (
		groups = parent + ".groups"
		users  = parent + ".users"
		group  = func(i int) any { return map[string]any{"name": fmt.Sprintf("group-%d", i)} }
		user   = func(i int) any { return fmt.Sprintf("user-%d", i) }
	)
	return []rule{
		{
			kind: k, name: "at most 256 groups", field: groups, covers: []string{"maxItems=256"},
			accepts: []any{list(256, group)},
			refuses: []any{list(257, group), list(5000, group)},
			message: "must have at most 256 items",
		},
		{
			kind: k, name: "at most 256 users", field: users, covers: []string{"maxItems=256"},
			accepts: []any{list(256, user)},
			refuses: []any{list(257, user), list(5000, user)},
			message: "must have at most 256 items",
		},
		{
			kind: k, name: "group names have at most 253 characters", field: groups + "[0].name", covers: []string{"maxLength=253"},
			accepts: []any{strings.Repeat("g", 253)},
			refuses: []any{strings.Repeat("g", 254)},
			message: groups + "[0].name: Too long: may not be more than 253 bytes",
		},
		{
			kind: k, name: "group names have no control characters", field: groups + "[0].name", covers: []string{"pattern"},
			accepts: []any{"system:authenticated", "CN=team red,OU=eu", `quote " and \ and 'x'`, "グループ"},
			refuses: []any{"a\nb", "a\x00", "\x1f", "a\x7f", "a\u0085b", "a\tb"},
			message: groupNames,
		},
		{
			kind: k, name: "user names have at most 320 characters", field: users + "[0]", covers: []string{"maxLength=320"},
			accepts: []any{strings.Repeat("u", 320)},
			refuses: []any{strings.Repeat("u", 321)},
			message: users + "[0]: Too long: may not be more than 320 bytes",
		},
		{
			kind: k, name: "user names have no control characters", field: users + "[0]", covers: []string{"pattern"},
			accepts: []any{"system:serviceaccount:apps:bot", "alice@example.com", `DOMAIN\alice`},
			refuses: []any{"a\nb", "a\x00", "\x1f", "a\x7f", "a\u0085b"},
			message: groupNames,
		},
	}
}

func labels(n int) any {
	values := map[string]any{}
	for i := range n {
		values[fmt.Sprintf("label-%d", i)] = "value"
	}
	return values
}

func limit(i int) any {
	return map[string]any{"limit": int64(i + 1), "window": "1m"}
}
