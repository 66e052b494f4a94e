// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// example is something for a person to try with curl, in a shell with the settings.
type example struct {
	// what is who asks for what.
	what, lines string
	// want are the statuses that must come of it, in this order; several in a row count
	// as one.
	want []string
}

const (
	chatBody = `-d '{"model": "'"$MAAS_MODEL"'", "messages": [{"role": "user", "content": "Hello"}]}'`
	chatURL  = `"$MAAS_MODEL_URL/v1/chat/completions"`
	withKey  = `-H "Authorization: Bearer $(cat "$MAAS_KEY_FILE")"`
	// othersModel is the path of the model that the caller of the samples may not use.
	othersModel = "/llm/coder/v1/models"
)

// trialTokens is what the quota of the trial gives per minute, some requests' worth.
const trialTokens = 20

// examples show each answer of the engines. Those of one person build on each other.
func examples() []example {
	return []example{
		{"nobody", `curl -K "$MAAS_CURL" -i "$MAAS_MODEL_URL/v1/models"`, []string{"401"}},
		{callerName + " with her API key", `curl -K "$MAAS_CURL" -i ` + chatURL + ` ` + withKey + ` \
  ` + chatBody, []string{"200"}},
		{"the same key at a model that is for others", `curl -K "$MAAS_CURL" -i "$MAAS_URL` + othersModel + `" ` + withKey, []string{"403"}},
		{trialName + " with a token of his, after logging in at the provider", `BOB="$(bin/oidc-provider token --issuer "$MAAS_ISSUER" --connect "$MAAS_PROVIDER" --cacert "$MAAS_CA" --client ` + clientID + ` --user ` + trialName + `)"
curl -K "$MAAS_CURL" -i ` + chatURL + ` -H "Authorization: Bearer $BOB" \
  ` + chatBody, []string{"200"}},
		{fmt.Sprintf("%s again and again, who has %d tokens per minute", trialName, trialTokens), `for i in 1 2 3 4 5; do
  curl -K "$MAAS_CURL" -o /dev/null -w '%{http_code}\n' ` + chatURL + ` -H "Authorization: Bearer $BOB" \
    ` + chatBody + `
done`, []string{"200", "429"}},
	}
}

// printExamples shows how to see each answer.
func (s *stack) printExamples(out io.Writer) error {
	fmt.Fprintf(out, "\nWatch the engines decide, from the checkout, after: . %s\n", s.relative(s.layout.envFile()))
	for _, e := range examples() {
		fmt.Fprintf(out, "  # %s: %s\n  %s\n", e.what, strings.Join(e.want, ", then "), strings.ReplaceAll(e.lines, "\n", "\n  "))
	}
	_, err := fmt.Fprint(out, `  # what the gateway did with the last request, and what the limits have counted
  curl -s "$MAAS_GATEWAY_ADMIN/requests?n=1"; curl -s "$MAAS_GATEWAY_ADMIN/counters"
`)
	return err
}

// awaitExamples waits until requests are answered as the examples will be, with some
// that no quota counts: the gateway is the last to know what the operator did.
func (s *stack) awaitExamples(ctx context.Context) error {
	t, err := s.site(defaultTenant)
	if err != nil {
		return err
	}
	token, err := s.login(ctx, trialName)
	if err != nil {
		return err
	}
	defer s.visited.close()
	var last error
	err = poll(ctx, admitTimeout, admitPoll, func(ctx context.Context) (bool, error) {
		last = s.rehearse(ctx, t, token)
		return last == nil, nil
	})
	if err != nil && last != nil && ctx.Err() == nil {
		return errors.Join(err, last)
	}
	return err
}

// rehearse tells what of the examples would not come out yet.
func (s *stack) rehearse(ctx context.Context, t *site, token string) error {
	v := s.visited
	var executed engineGateway
	_, err := v.do(ctx, request{method: http.MethodGet, url: "http://" + s.state.Addresses[t.gatewayAdmin()] + "/config", want: http.StatusOK}, &executed)
	if err != nil {
		return err
	}
	if err := s.upToDate(ctx, t, executed); err != nil {
		return err
	}
	models := v.endpoint + "/v1/models"
	for _, r := range []request{
		{url: models, want: http.StatusUnauthorized},
		{url: models, credential: v.key, want: http.StatusOK},
		{url: v.gateway + othersModel, credential: v.key, want: http.StatusForbidden},
		{url: models, credential: token, want: http.StatusOK},
	} {
		r.method = http.MethodGet
		if _, err := v.do(ctx, r, nil); err != nil {
			return err
		}
	}
	return nil
}

// sendExamples does what the examples say, in a shell, and fails when something else
// came of one.
func (s *stack) sendExamples(ctx context.Context, out io.Writer) error {
	table := &block{indent: "  ", header: []string{"EXAMPLE", "WANTED", "GOT"}}
	var errs []error
	var before []string
	for _, e := range examples() {
		said, err := s.shell(ctx, strings.Join(append(before, e.lines), "\n"))
		if err != nil {
			return err
		}
		got := statuses(said)
		table.row(e.what, strings.Join(e.want, ", "), strings.Join(got, ", "))
		if !slices.Equal(slices.Compact(got), e.want) {
			errs = append(errs, fmt.Errorf("%s: want %s; the answer is:\n%s", e.what, strings.Join(e.want, ", then "), indent(said)))
		}
		before = assignmentsOf(e.lines, before)
	}
	fmt.Fprint(out, "\nWhat came of these requests:\n\n")
	if err := table.write(out); err != nil {
		return err
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("send the example requests: %w", err)
	}
	return nil
}

// assignmentsOf are the lines of an example that others need, after those before.
func assignmentsOf(lines string, before []string) []string {
	for line := range strings.Lines(lines) {
		if assignment.MatchString(line) {
			before = append(before, strings.TrimSpace(line))
		}
	}
	return before
}

var (
	assignment = regexp.MustCompile(`^[A-Z]+=`)
	// status finds what curl says of an answer: its first line, or what -w writes.
	status = regexp.MustCompile(`(?m)^(?:HTTP/\S+ )?([1-5]\d\d)\s*$`)
)

// statuses are those that curl has shown.
func statuses(said string) []string {
	var all []string
	for _, found := range status.FindAllStringSubmatch(said, -1) {
		all = append(all, found[1])
	}
	return all
}

// shell runs lines in a shell with the settings of the stack, as a person would.
func (s *stack) shell(ctx context.Context, lines string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-euc", `. "$0"`+"\n"+lines, s.layout.envFile())
	cmd.Dir = s.layout.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	var said, failure strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &failure
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("send an example request, which takes sh and curl: %w: %s", err, strings.TrimSpace(failure.String()))
	}
	return said.String(), nil
}
