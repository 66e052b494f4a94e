// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// gatewayInShell stands in for curl and the gateway behind it: what it answers follows
// from the command line, but for how many requests of bob are served.
const gatewayInShell = `
export MAAS_CURL=c MAAS_MODEL=granite MAAS_MODEL_URL=https://m/llm/granite MAAS_URL=https://m MAAS_KEY_FILE=/dev/null
export MAAS_ISSUER=i MAAS_PROVIDER=p MAAS_CA=ca
asked=0
curl() {
  case "$*" in
    *%%{http_code}*'Bearer token of bob'*) asked=$((asked + 1)); if [ $asked -le %d ]; then echo 200; else echo 429; fi ;;
    */llm/coder/*'Bearer '*) echo 'HTTP/2 403 ' ;;
    *'Bearer '*) printf 'HTTP/2 200 \r\ncontent-type: text/plain\r\n\r\n{"usage": {"total_tokens": 404}}\n' ;;
    *) echo 'HTTP/2 401 ' ;;
  esac
}
`

// exampleStack is a stack whose gateway serves some requests of bob.
func exampleStack(t *testing.T, served int) *stack {
	t.Helper()
	dir := t.TempDir()
	s := &stack{layout: layout{root: dir, dir: dir}}
	if err := os.WriteFile(s.layout.envFile(), fmt.Appendf(nil, gatewayInShell, served), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	login := "#!/bin/sh\nfor last; do :; done\necho token of $last\n"
	if err := os.WriteFile(s.layout.binary(processProvider), []byte(login), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExamplesAreSentAsTheyAreShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := exampleStack(t, 2).sendExamples(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^  nobody +401 +401$`, `(?m)^  alice with her API key +200 +200$`, `(?m)^  the same key .* 403 +403$`,
		`(?m)^  bob with a token .* 200 +200$`, `(?m)^  bob again and again, .* 200, 429 +200, 200, 429, 429, 429$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the table lacks %s:\n%s", want, out.String())
		}
	}
}

func TestAnExampleWithAnotherStatusFailsTheRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		served int
		want   string
	}{
		"a quota that is never used up": {100, "bob again and again, who has 20 tokens per minute: want 200, then 429; the answer is:\n    200\n"},
		"a quota that was used up":      {0, "want 200, then 429; the answer is:\n    429\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := exampleStack(t, tc.served).sendExamples(t.Context(), &out)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("sendExamples() = %v, want an error that says %q", err, tc.want)
			}
			if !strings.Contains(out.String(), "nobody") {
				t.Errorf("the table is not shown:\n%s", out.String())
			}
		})
	}
}

func TestExamplesThatCannotBeSentSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	s := exampleStack(t, 2)
	if err := os.WriteFile(s.layout.envFile(), []byte(strings.ReplaceAll(gatewayInShell, "curl() {", "curl() { echo no such thing >&2; return 127")), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.sendExamples(t.Context(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "takes sh and curl") || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("sendExamples() = %v, want what it takes and what went wrong", err)
	}
}

func TestStatusesAreThoseOfAnswersAlone(t *testing.T) {
	t.Parallel()
	got := statuses("HTTP/1.1 100 Continue\nHTTP/2 200 \r\nage: 300\n\n{\"a\": 404}\n\n429\n500 tokens\n")
	if diff := cmp.Diff([]string{"200", "429"}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestTheTrialIsWhatTheExamplesSay(t *testing.T) {
	t.Parallel()
	l := layout{root: testenv.RepoRoot()}
	objects, err := samples.Load(l.trial())
	if err != nil {
		t.Fatal(err)
	}
	var limit, model, group string
	for _, o := range objects {
		switch {
		case o.GetKind() == "MaaSSubscription" && o.GetName() == "trial":
			refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "modelRefs")
			rates, _ := refs[0].(map[string]any)["tokenRateLimits"].([]any)
			limit = fmt.Sprint(rates[0].(map[string]any)["limit"])
			owner, _, _ := unstructured.NestedMap(o.Object, "spec", "owner")
			group = firstOf(owner, "name", "groups")
		case o.GetKind() == kindModelRef:
			model = "/" + o.GetNamespace() + "/" + o.GetName() + "/v1/models"
		}
	}
	if limit != strconv.Itoa(trialTokens) || group != trialGroup || model != othersModel {
		t.Errorf("the trial has %s tokens for %s, and a model at %s; want %d for %s, and %s", limit, group, model, trialTokens, trialGroup, othersModel)
	}
}

func TestNoTwoSubscriptionsOfAStackHaveOnePriority(t *testing.T) {
	t.Parallel()
	objects, err := (&stack{layout: layout{root: testenv.RepoRoot()}, engines: true}).declared()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for _, o := range objects {
		if o.GetKind() != "MaaSSubscription" {
			continue
		}
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "priority")
		priority := fmt.Sprint(value)
		if other := has[priority]; other != "" {
			t.Errorf("%s and %s have priority %s", other, o.GetName(), priority)
		}
		has[priority] = o.GetName()
	}
	if len(has) < 2 {
		t.Errorf("subscriptions by priority: %v", has)
	}
}
