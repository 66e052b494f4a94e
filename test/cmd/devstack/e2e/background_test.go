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
		Expect(succeed(devstack(dir, "status"))).To(MatchRegexp(`models-as-a-service +Active +models-as-a-service +Active +openshift-ingress/maas-default-gateway +odh-ai-gateway-infra/maas-api 1 of 1`))
		for _, name := range []string{database, gateway} {
			Expect(all[name].state).To(Equal("running"), name)
			Expect(all[name].address).To(MatchRegexp(`^127\.0\.0\.1:\d+$`), name)
		}
		for _, name := range []string{"standins", "workload"} {
			Expect(all[name].state).To(Equal("running"), name)
		}
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

		lines := shell(ctx, dir, here(dir, readmeLines()))
		By(lines)
		Expect(lines).To(MatchRegexp(`(?s)"id":"granite"` + // The models,
			`.*"key":"sk-oai-\w+_\w+".*"name":"mine"` + // the new key,
			`.*"has_more":false` + // the search,
			`.*"content":"Hello".*"total_tokens":[1-9]|"total_tokens":[1-9].*"content":"Hello"`)) // and the chat.
		Expect(lines).To(MatchRegexp(`(?s)"status":"revoked".*HTTP/2 403.*HTTP/2 401`))
		By("creating a second tenant and deleting it")
		Expect(lines).To(MatchRegexp(`(?s)red +Active +ai-tenant-red +Active +openshift-ingress/red +odh-ai-gateway-infra/maas-api-red 1 of 1` +
			`.*list models +200 .*1: granite.*"content":"Hello from red"` +
			`.*odh-ai-gateway-infra/maas-api-revoke-keys-red +Complete.*Revoked the keys of the tenant: red, 1\n`))
		Expect(status(dir)).NotTo(Or(HaveKey("red"), HaveKey("maas-api-red"), HaveKey("gateway-standin-red")))
	})

	It("never lets a deleted tenant's key in again, though the name is", func(ctx SpecContext) {
		const validate = `curl -sS --cacert "$MAAS_CA" "$MAAS_API_URL/internal/v1/api-keys/validate" -d "{\"key\": \"$KEY\"}"`
		settings := "set +u; . " + filepath.Join(dir, "tenants", "red", "env") + "; "
		succeed(devstack(dir, "tenant", "red"))
		key := strings.TrimSpace(shell(ctx, dir, settings+`cat "$MAAS_KEY_FILE"`))
		Expect(shell(ctx, dir, settings+"KEY="+key+"; "+validate)).To(ContainSubstring(`"valid":true`))
		Expect(shell(ctx, dir, "KEY="+key+"; "+validate)).To(ContainSubstring(`"valid":false`), "the default tenant's maas-api knows no key of another")

		succeed(devstack(dir, "delete-tenant", "red"))
		succeed(devstack(dir, "tenant", "red"))
		Expect(shell(ctx, dir, settings+"KEY="+key+"; "+validate)).To(ContainSubstring(`"valid":false`))
	})

	It("serves every tenant again after all was ended", func() {
		succeed(devstack(dir, "down"))
		Expect(succeed(devstack(dir, "up"))).To(MatchRegexp(`(?m)^red +Active .*maas-api-red 1 of 1$`))
		all := status(dir)
		for _, name := range []string{"maas-api-red", "gateway-standin-red"} {
			Expect(all[name].state).To(Equal("running"), name)
		}
		Expect(succeed(devstack(dir, "tenant", "red"))).To(MatchRegexp(`chat +200 .*usage: `))
		succeed(devstack(dir, "delete-tenant", "red"))
	})

	It("says what is wrong with the name of a tenant", func() {
		for name, want := range map[string]string{"models-as-a-service": "is the default tenant", "Red": "is no name of a tenant", "blue": "there is none"} {
			session := devstack(dir, "delete-tenant", name)
			Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(1))
			Expect(string(session.Err.Contents())).To(ContainSubstring(want))
		}
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

// here makes lines for a person's checkout work on a data directory, with the programs
// of this suite.
func here(dir, lines string) string {
	command := strings.Join([]string{programs.devstack, "--dir", dir, "--controller-binary", programs.controller, "--maas-api-binary", programs.service}, " ")
	return strings.NewReplacer(
		". .dev/env", "", ". .dev/tenants/", ". "+dir+"/tenants/",
		"make tenant NAME=", command+" tenant ", "make delete-tenant NAME=", command+" delete-tenant ",
	).Replace(lines)
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
