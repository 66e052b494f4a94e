// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The programs that a stack consists of, as status calls them.
const (
	controller = "maas-controller"
	service    = "maas-api"
	database   = "postgres"
	gateway    = "gateway-standin"
	model      = "llm-d-inference-sim"
)

// The specs share one stack, since starting it takes most of their time, and follow
// its life from a start that is killed to its end.
var _ = Describe("devstack up", Serial, Ordered, func() {
	var dir string

	BeforeAll(func() { dir = dataDir() })

	It("finishes what an earlier start left behind that was killed", func() {
		killed := devstack(dir, "up")
		Eventually(killed.Err).WithTimeout(commandTimeout).Should(gbytes.Say("Starting maas-controller"), func() string {
			return string(killed.Err.Contents())
		})
		killed.Kill()
		Eventually(killed).WithTimeout(commandTimeout).Should(gexec.Exit())
		left := status(dir)[database]
		Expect(left.state).To(Equal("running"))

		out := succeed(devstack(dir, "up"))
		Expect(out).To(MatchRegexp(`chat +200 .*usage: `))
		Expect(out).NotTo(MatchRegexp(`sk-oai-\w+_\w`))
		Expect(status(dir)[database]).To(Equal(left))
	})

	It("lists every process with its address, and metrics where there are any", func() {
		all := status(dir)
		for _, name := range []string{"etcd", "kube-apiserver", controller, model, service} {
			Expect(all[name].state).To(Equal("running"), name)
			Expect(all[name].address).To(MatchRegexp(`^127\.0\.0\.1:\d+$`), name)
			Expect(all[name].metrics).To(MatchRegexp(`^https?://127\.0\.0\.1:\d+/metrics$`), name)
		}
		for _, name := range []string{database, gateway} {
			Expect(all[name].state).To(Equal("running"), name)
			Expect(all[name].address).To(MatchRegexp(`^127\.0\.0\.1:\d+$`), name)
		}
		Expect(all["standins"].state).To(Equal("running"))
	})

	It("starts nothing again", func() {
		before := status(dir)
		Expect(succeed(devstack(dir, "up"))).To(ContainSubstring("Already running"))
		Expect(status(dir)).To(Equal(before))
	})

	It("keeps the key and the settings for their owner alone", func() {
		for _, file := range []string{"api-key", "env", "identities.json", "state.json", "curl"} {
			info, err := os.Stat(filepath.Join(dir, file))
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), file)
		}
	})

	It("has settings for a shell with which the README's lines do what it says", func(ctx SpecContext) {
		Expect(shell(ctx, dir, `"$KUBECTL" get maasmodelref -n llm granite -o jsonpath={.status.phase}`)).To(Equal("Ready"))
		Expect(succeed(devstack(dir, "kubeconfig"))).To(Equal(shell(ctx, dir, `echo "$KUBECONFIG"`)))
		Expect(shell(ctx, dir, `curl -sS -o /dev/null -w '%{http_code}' --cacert "$MAAS_CA" "$MAAS_API_URL/docs"`)).To(Equal("200"))

		lines := shell(ctx, dir, strings.Replace(readmeLines(), ". .dev/env", "", 1))
		By(lines)
		Expect(lines).To(MatchRegexp(`(?s)"id":"granite"` + // The models,
			`.*"key":"sk-oai-\w+_\w+".*"name":"mine"` + // the new key,
			`.*"has_more":false` + // the search,
			`.*"content":"Hello".*"total_tokens":[1-9]|"total_tokens":[1-9].*"content":"Hello"`)) // and the chat.
		Expect(lines).To(MatchRegexp(`(?s)"status":"revoked".*HTTP/2 403.*HTTP/2 401`))
	})

	It("stops each of its programs, and starts it again as the first command did", func() {
		for name, binary := range map[string]string{controller: programs.controller, service: programs.service} {
			target := strings.TrimPrefix(name, "maas-")
			if name == service {
				target = name
			}
			before := status(dir)[name]
			Expect(succeed(devstack(dir, "stop-"+target))).To(ContainSubstring("bin/" + name))
			Expect(succeed(devstack(dir, "stop-"+target))).To(ContainSubstring("is not running"))
			Expect(status(dir)[name].state).To(Equal("stopped"))

			By("saying why a broken " + name + " does not start, and leaving the rest alone")
			broken := filepath.Join(dir, "broken")
			Expect(os.WriteFile(broken, []byte("#!/bin/sh\necho no such flag >&2\nexit 2\n"), 0o700)).To(Succeed())
			session := bare(dir, "start-"+target, "--"+target+"-binary", broken)
			Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(1))
			message := string(session.Err.Contents())
			Expect(message).To(ContainSubstring(name + " ended before it was ready"))
			Expect(message).To(ContainSubstring("no such flag"))
			Expect(status(dir)["kube-apiserver"].state).To(Equal("running"))

			By("starting " + name + ", twice")
			succeed(bare(dir, "start-"+target))
			after := status(dir)[name]
			Expect(after.state).To(Equal("running"))
			Expect(after.pid).NotTo(Equal(before.pid))
			Expect(os.Readlink(filepath.Join("/proc", after.pid, "exe"))).To(Equal(binary))
			succeed(devstack(dir, "start-"+target))
			Expect(status(dir)[name]).To(Equal(after))
		}
	})

	It("brings back what has died, with the keys that were made", func(ctx SpecContext) {
		const search = `curl -K "$MAAS_CURL" "$MAAS_URL/v1/api-keys/search" -H "Authorization: Bearer $MAAS_TOKEN" -d '{"filters": {"nameContains": "mine"}}'`
		before := status(dir)
		for _, name := range []string{database, service, model} {
			pid, err := strconv.Atoi(before[name].pid)
			Expect(err).NotTo(HaveOccurred())
			Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		}
		Eventually(func() string { return status(dir)[database].state }).WithTimeout(commandTimeout).Should(Equal("stopped"))
		Expect(succeed(devstack(dir, "up"))).To(MatchRegexp(`chat +200 .*usage: `))
		after := status(dir)
		Expect(after[controller]).To(Equal(before[controller]))
		Expect(after[service].address).To(Equal(before[service].address))
		Expect(shell(ctx, dir, search)).To(ContainSubstring(`"name":"mine"`))
	})

	It("ends everything, and twice is once", func() {
		Expect(succeed(devstack(dir, "down"))).To(ContainSubstring("Ended"))
		Expect(processesOf(dir)).To(BeEmpty())
		for _, file := range []string{"api-key", "identities.json", "env", "curl"} {
			Expect(filepath.Join(dir, file)).NotTo(BeAnExistingFile())
		}
		Expect(succeed(devstack(dir, "down"))).To(ContainSubstring("Nothing was running"))
	})
})

// row is what status says of a process.
type row struct{ state, pid, address, metrics string }

// status asks for all processes.
func status(dir string) map[string]row {
	GinkgoHelper()
	rows := map[string]row{}
	for line := range strings.Lines(strings.ReplaceAll(succeed(devstack(dir, "status")), "not ready", "not-ready")) {
		if fields := strings.Fields(line); len(fields) > 5 {
			rows[fields[0]] = row{state: fields[1], pid: fields[2], address: fields[3], metrics: fields[4]}
		}
	}
	return rows
}

// shell runs a script with the settings of the stack.
func shell(ctx context.Context, dir, script string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "sh", "-euc", ". "+filepath.Join(dir, "env")+"; "+script)
	cmd.Stderr = GinkgoWriter
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// readmeLines are those that the README gives to be pasted into a shell.
func readmeLines() string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "README.md"))
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(text), "\n```sh\n")
	Expect(found).To(BeTrue(), "the README has lines for a shell")
	lines, _, _ := strings.Cut(rest, "\n```")
	return lines
}
