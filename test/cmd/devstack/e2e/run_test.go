// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("devstack run", Serial, func() {
	It("shows the governed sample and calls it with a key, and leaves nothing when interrupted", func() {
		dir := dataDir()
		session := devstack(dir, "run")
		Eventually(session.Out).WithTimeout(commandTimeout).Should(gbytes.Say("Press Ctrl-C"), func() string {
			return string(session.Err.Contents())
		})
		Expect(filepath.Join(dir, "api-key")).To(BeARegularFile())
		session.Signal(syscall.SIGINT)
		Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(0))
		Expect(processesOf(dir)).To(BeEmpty())
		for _, file := range []string{"api-key", "identities.json", "env", "postgres"} {
			Expect(filepath.Join(dir, file)).NotTo(BeAnExistingFile())
		}

		out := string(session.Out.Contents())
		By("showing what the operator made by itself")
		Expect(out).To(MatchRegexp(`(?m)^default +True, PlatformReady +[1-9]`))
		Expect(out).To(MatchRegexp(`(?m)^models-as-a-service +Active +models-as-a-service +Active +openshift-ingress/maas-default-gateway +odh-ai-gateway-infra/maas-api 1 of 1$`))

		By("showing what is in force")
		Expect(out).To(MatchRegexp(`llm/granite +Ready +https://maas\.example\.com/llm/granite`))
		Expect(out).To(MatchRegexp(`AuthPolicy +llm/maas-auth-granite +Enforced`))
		Expect(out).To(MatchRegexp(`TokenRateLimitPolicy +llm/maas-trlp-granite +Enforced`))
		Expect(out).To(MatchRegexp(`tokens-10000-per-1m +10000 per 1m +models-as-a-service/assistant-standard +Active`))
		Expect(out).To(MatchRegexp(`models-as-a-service/data-science-standard +Active +data-science`))
		Expect(out).To(MatchRegexp(`tokens-100000-per-1m-2000000-per-24h .*platform-premium +Active`))
		Expect(out).To(MatchRegexp(`tokens-unlimited +unlimited +models-as-a-service/reliability-unlimited +Active`))
		Expect(strings.Count(out, "tokens-")).To(Equal(3), "three limits for four subscriptions")
		Expect(out).To(ContainSubstring("admin.kubeconfig"))

		By("showing each call with its status, its time and its answer")
		const took = ` +\d+\.\d ms +`
		Expect(out).To(MatchRegexp(`create key +201` + took + `gateway +POST /v1/api-keys +sk-oai-\w+\.\.\. of data-science-standard, until \d`))
		Expect(out).To(MatchRegexp(`validate +200` + took + `maas-api +POST /internal/v1/api-keys/validate +valid: alice in .*data-science`))
		Expect(out).To(MatchRegexp(`select +200` + took + `maas-api +POST /internal/v1/subscriptions/select +models-as-a-service/data-science-standard@llm/granite`))
		Expect(out).To(MatchRegexp(`list models +200` + took + `gateway +GET /v1/models +1: granite`))
		Expect(out).To(MatchRegexp(`chat +200` + took + `gateway +POST /llm/granite/v1/chat/completions +usage: [1-9]\d* prompt \+ [1-9]\d* completion = [1-9]\d* tokens`))

		By("saying what is not real, and showing no key")
		Expect(out).To(ContainSubstring("COUNTS NO TOKENS"))
		Expect(out + string(session.Err.Contents())).NotTo(MatchRegexp(`sk-oai-\w+_\w`))
	})

	It("ends everything when interrupted during the start", func() {
		dir := dataDir()
		session := devstack(dir, "run")
		Eventually(session.Err).WithTimeout(commandTimeout).Should(gbytes.Say("API server ready"))
		session.Signal(syscall.SIGINT)
		Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit())
		Expect(session.ExitCode()).NotTo(BeZero())
		Expect(string(session.Err.Contents())).To(MatchRegexp(`==> Ending everything\n +done in .+\n.*interrupted`))
		Expect(processesOf(dir)).To(BeEmpty())
	})
})

var _ = Describe("devstack run --engines", Serial, func() {
	It("is answered by the real Kuadrant and Authorino as the example requests say", func() {
		dir := dataDir()
		out := succeed(devstack(dir, "run", "--engines", "--once"))
		Expect(processesOf(dir)).To(BeEmpty())

		By("showing how to send them")
		Expect(out).To(ContainSubstring("bin/oidc-provider token --issuer"))
		Expect(out).To(MatchRegexp(`AuthPolicy +llm/maas-auth-granite +Enforced`))
		Expect(out).To(MatchRegexp(`TokenRateLimitPolicy +llm/maas-trlp-granite +Enforced`))
		Expect(out).To(MatchRegexp(`chat +200 .*usage: `))
		Expect(out).NotTo(ContainSubstring("COUNTS NO TOKENS"))

		By("sending them")
		_, got, found := strings.Cut(out, "What came of these requests:")
		Expect(found).To(BeTrue())
		for _, want := range []string{
			`nobody +401 +401`, `alice with her API key +200 +200`, `the same key .+ 403 +403`,
			`bob with a token .+ 200 +200`, `bob again and again, .+ 200, 429 +200(, 200)*(, 429)+`,
		} {
			Expect(got).To(MatchRegexp(`(?m)^ +` + want + `$`))
		}
		Expect(out).NotTo(Or(MatchRegexp(`sk-oai-\w+_\w`), MatchRegexp(`eyJ\w+\.eyJ`)), "no key and no token is shown")
	})

	It("ends when an engine does, and tells what that said last", func() {
		dir := dataDir()
		session := devstack(dir, "run", "--engines")
		Eventually(session.Out).WithTimeout(commandTimeout).Should(gbytes.Say("Press Ctrl-C"), func() string {
			return string(session.Err.Contents())
		})
		for _, name := range []string{"kuadrant-operator", "authorino", "oidc-provider", "names"} {
			Expect(status(dir)[name].state).To(Equal("running"), name)
		}
		pid, err := strconv.Atoi(status(dir)["authorino"].pid)
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(1))
		Expect(string(session.Err.Contents())).To(MatchRegexp(`authorino ended on its own; from .*/authorino\.log:\n.*"logger":"authorino"`))
		Expect(processesOf(dir)).To(BeEmpty())
	})
})
