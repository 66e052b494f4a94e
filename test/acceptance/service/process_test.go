// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// run runs the program to its end.
func run(ctx SpecContext, args []string, env ...string) service.Outcome {
	GinkgoHelper()
	return must(on.Run(ctx, args, env))
}

// refused matches a program that did not start and says why, without repeating a
// value.
func refused(texts ...string) OmegaMatcher {
	matchers := []OmegaMatcher{HaveField("Code", 1), HaveField("Stderr", HavePrefix("error: "))}
	for _, text := range texts {
		matchers = append(matchers, HaveField("Stderr", ContainSubstring(text)))
	}
	return And(matchers...)
}

// file writes a file that only this spec uses.
func file(content string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "file")
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	return path
}

var _ = Describe("The program", func() {
	DescribeTable("refuses settings that cannot be meant, and names them (E-34 as decided, E-129, E-130, E-142 fixed: panics and silent defaults)",
		func(ctx SpecContext, env string, names ...string) {
			Expect(run(ctx, append([]string{"serve"}, on.Args()...), strings.Fields(env)...)).To(refused(names...))
		},
		Entry("no life for keys", "API_KEY_MAX_EXPIRATION_DAYS=0", "--api-key-max-expiration-days (API_KEY_MAX_EXPIRATION_DAYS)"),
		Entry("a negative life for keys", "API_KEY_MAX_EXPIRATION_DAYS=-1", "API_KEY_MAX_EXPIRATION_DAYS"),
		Entry("no number", "API_KEY_MAX_EXPIRATION_DAYS=abc", "API_KEY_MAX_EXPIRATION_DAYS"),
		Entry("no time for probes", "ACCESS_CHECK_TIMEOUT_SECONDS=0", "ACCESS_CHECK_TIMEOUT_SECONDS"),
		Entry("no memory for admins", "SAR_CACHE_MAX_SIZE=0", "SAR_CACHE_MAX_SIZE"),
		Entry("a negative debounce", "LAST_USED_DEBOUNCE_SECS=-1", "LAST_USED_DEBOUNCE_SECS"),
		Entry("no port", "METRICS_PORT=70000", "METRICS_PORT"),
		Entry("a certificate without a key", "TLS_CERT=/x", "--tls-cert (TLS_CERT) and --tls-key (TLS_KEY) must be given together"),
		Entry("encryption without a certificate", "SECURE=true", "--secure (SECURE) needs a certificate"),
		Entry("an old port beside encryption", "PORT=8080 TLS_SELF_SIGNED=true", "--port (PORT)", "--tls-self-signed (TLS_SELF_SIGNED)"),
		Entry("a malformed old port", "PORT=x", "--port (PORT)"),
		Entry("a version of TLS that is broken", "TLS_MIN_VERSION=1.1", "TLS_MIN_VERSION"),
		Entry("a share beyond everything", "OTEL_TRACES_SAMPLE_RATE=2", "OTEL_TRACES_SAMPLE_RATE"),
		Entry("one address for two", "ADDRESS=127.0.0.1:9 METRICS_ADDRESS=127.0.0.1:9", "--address (ADDRESS)", "--metrics-address (METRICS_ADDRESS)"),
		Entry("several at once", "PORT=x METRICS_PORT=y", "2 settings", "--port (PORT)", "--metrics-port (METRICS_PORT)"),
	)

	It("refuses a tenant and a namespace that are blank or impossible (E-16, E-129, E-142)", func(ctx SpecContext) {
		Expect(run(ctx, []string{"serve"}, "TENANT_NAME= ")).To(refused("--tenant-name (TENANT_NAME) is blank"))
		Expect(run(ctx, []string{"serve"}, "MAAS_SUBSCRIPTION_NAMESPACE=")).To(refused("--maas-subscription-namespace (MAAS_SUBSCRIPTION_NAMESPACE) is blank"))
		Expect(run(ctx, []string{"serve", "--maas-subscription-namespace=Not_A_Name"})).To(refused("--maas-subscription-namespace"))
	})

	It("refuses a database URL of another kind, and keeps what it says to itself (E-136, A76)", func(ctx SpecContext) {
		for _, url := range []string{"mysql://maas:hunter2hunter2@db/maas", "maas:hunter2hunter2@db", "", "   "} {
			out := run(ctx, append([]string{"serve", "--database-url-file=" + file(url)}, on.Args()...),
				"ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0")
			Expect(out).To(refused("invalid database URL"))
			Expect(out.Stdout + out.Stderr).NotTo(ContainSubstring("hunter2"))
		}
	})

	It("does not start without its Secret, and says which one is missing", func(ctx SpecContext) {
		args := append(append([]string{"serve"}, on.Args()...), "--namespace=default", "--address=127.0.0.1:0", "--metrics-address=127.0.0.1:0")
		Expect(run(ctx, args)).To(refused("maas-db-config"))
	})

	It("waits for a database that is down, for a bounded time, and says why it gave up (E-141 fixed: no retry)", func(ctx SpecContext) {
		nobody := must(testenv.FreeAddress(ctx))
		begin := time.Now()
		out := run(ctx, append([]string{"serve", "--start-timeout=1s", "--database-url-file=" + file("postgres://maas:hunter2hunter2@"+nobody+"/maas")}, on.Args()...),
			"ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0")
		Expect(time.Since(begin)).To(BeNumerically(">=", time.Second))
		Expect(out).To(refused("database"))
		Expect(out.Stdout + out.Stderr).NotTo(ContainSubstring("hunter2"))
	})

	It("warns of settings that have no effect or are old", func(ctx SpecContext) {
		r := up(ctx, service.ReplicaOptions{Name: unique("warned"), Env: []string{"AITENANT_NAME=x", "API_KEY_MAX_EXPIRATION_DAY=3"}})
		log := string(must(os.ReadFile(r.LogFile())))
		Expect(log).To(And(ContainSubstring("AITENANT_NAME is set but has no effect"), ContainSubstring("API_KEY_MAX_EXPIRATION_DAY is set but is no setting")))
		Expect(r.Stop()).To(Succeed())
	})

	It("serves HTTPS with a certificate of its own that is good for its names (E-144 fixed: no names)", func(ctx SpecContext) {
		r := up(ctx, service.ReplicaOptions{Name: unique("https"), TLS: true, Env: []string{"TLS_MIN_VERSION=1.2"}, Args: []string{"--tls-min-version=1.3"}})
		Expect(get(ctx, r.Client(), "/health")).To(exactly(200, `{"status":"healthy"}`))
		connection := must((&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(ctx, "tcp", r.Address()))
		state := connection.(*tls.Conn).ConnectionState()
		Expect(state.NegotiatedProtocol).To(Equal("h2"))
		Expect(state.Version).To(BeEquivalentTo(tls.VersionTLS13), "the flag wins (E-129)")
		Expect(state.PeerCertificates[0].VerifyHostname("127.0.0.1")).To(Succeed())
		Expect(state.PeerCertificates[0].VerifyHostname("maas-api." + service.Account().Namespace + ".svc")).To(Succeed())
		Expect(connection.Close()).To(Succeed())
		_, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", r.Address())
		Expect(err).To(HaveOccurred())
		Expect(r.Stop()).To(Succeed())
	})

	It("ends in good order: requests under way are answered, and the last uses of keys are written (E-145, B42)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		r := up(ctx, service.ReplicaOptions{Name: unique("ending"), Env: []string{"LAST_USED_INTERVAL=10m"}, Args: []string{"--shutdown-drain=300ms"}})
		Expect(verdict(ctx, r, key.Key).Valid).To(BeTrue())
		Expect(must(owner.Get(ctx, key.ID)).LastUsedAt).To(BeEmpty(), "not written yet")
		client := r.Client()
		done := make(chan error, 1)
		go func() { done <- r.Stop() }()
		Eventually(func() bool { return r.Ready(ctx) }).Should(BeFalse(), "unready before it closes")
		Expect(client.Validate(ctx, key.Key)).To(HaveField("Valid", true), "and still serving")
		Eventually(done).Should(Receive(BeNil()))
		Expect(must(owner.Get(ctx, key.ID)).LastUsedAt).NotTo(BeEmpty())
		Expect(must(os.ReadFile(r.LogFile()))).To(ContainSubstring(`"message":"Stopped"`))
	})

	It("has sub-commands that work on the database and end", func(ctx SpecContext) {
		url := must(on.Postgres.NewDatabase(ctx))
		on.Used.Secret(url)
		args := func(command string, more ...string) []string {
			return append([]string{command, "--database-url-file=" + file(url)}, more...)
		}
		Expect(run(ctx, args("migrate"))).To(HaveField("Code", 0))
		Expect(run(ctx, args("migrate"))).To(HaveField("Code", 0), "again")
		Expect(run(ctx, args("cleanup"))).To(HaveField("Code", 0))
		Expect(run(ctx, args("revoke", "--tenant="+service.Tenant))).To(HaveField("Code", 0))
		Expect(run(ctx, args("revoke"))).To(refused("--tenant is missing"))
		Expect(run(ctx, []string{"cleanup", "--url=" + api.InternalURL()})).To(HaveField("Code", 0), "by a running service")
		Expect(run(ctx, []string{"version"})).To(And(HaveField("Code", 0), HaveField("Stdout", HavePrefix("maas-api version "))))
		Expect(run(ctx, []string{"--help"})).To(HaveField("Stdout", And(ContainSubstring("--tenant-name"), ContainSubstring("TENANT_NAME"))))
		Expect(run(ctx, []string{"serve", "--no-such-flag"})).To(refused("no-such-flag"))
	})

	It("takes over a table that an earlier release left, with its rows (E-146 fixed: no start)", func(ctx SpecContext) {
		url := must(on.Postgres.NewDatabase(ctx))
		earlier := must(pgx.Connect(ctx, url))
		_, err := earlier.Exec(ctx, `
			CREATE TABLE schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL);
			INSERT INTO schema_migrations VALUES (2, false);
			CREATE TABLE api_keys (id TEXT PRIMARY KEY, username TEXT NOT NULL, name TEXT NOT NULL, description TEXT, key_hash TEXT NOT NULL,
				status TEXT NOT NULL DEFAULT 'active' CONSTRAINT api_keys_status_check CHECK (status IN ('active', 'revoked', 'expired')),
				user_groups TEXT[] NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(), expires_at TIMESTAMPTZ, last_used_at TIMESTAMPTZ,
				ephemeral BOOLEAN NOT NULL DEFAULT FALSE);
			CREATE UNIQUE INDEX idx_api_keys_key_hash ON api_keys (key_hash);
			INSERT INTO api_keys (id, username, name, key_hash, user_groups) VALUES (gen_random_uuid()::text, 'somebody', 'old', '`+earlierHash+`', '{a}')`)
		Expect(err).NotTo(HaveOccurred())
		Expect(earlier.Close(ctx)).To(Succeed())
		r := up(ctx, service.ReplicaOptions{Name: unique("heir"), Database: url})
		Expect(reasonOf(ctx, r, earlierKey)).To(Equal("key has no subscription bound"), "that release knew of none")
		Expect(r.Stop()).To(Succeed())
	})

	It("starts while others start on an empty database, and with a pooler in between", func(ctx SpecContext) {
		url := must(on.Postgres.NewDatabase(ctx))
		pooler := must(on.Postgres.StartPooler(ctx, url))
		DeferCleanup(pooler.Stop)
		replicas := make([]*service.Replica, 3)
		for i := range replicas {
			replicas[i] = must(on.Replica(ctx, service.ReplicaOptions{Name: unique("together"), Database: pooler.URL}))
			Expect(replicas[i].Launch(ctx)).To(Succeed())
		}
		for _, r := range replicas {
			Expect(r.AwaitReady(ctx)).To(Succeed())
		}
		user := unique("owner")
		key := must(replicas[0].Client().As(user, commonGroup).Create(ctx, service.CreateKey{Name: "x"}))
		Expect(verdict(ctx, replicas[1], key.Key).Valid).To(BeTrue())
		must(replicas[1].Client().As(user, commonGroup).Revoke(ctx, key.ID))
		for _, r := range replicas {
			Eventually(func() string { return reasonOf(ctx, r, key.Key) }).WithTimeout(2 * time.Second).Should(Equal("key revoked or expired"))
			Expect(r.Stop()).To(Succeed())
		}
	})
})

var _ = Describe("A crash", func() {
	It("costs no key and no revocation (E-145)", func(ctx SpecContext) {
		r := up(ctx, service.ReplicaOptions{Name: unique("crashing")})
		user := unique("owner")
		owner := r.Client().As(user, commonGroup)
		kept, ended := newKey(ctx, owner), newKey(ctx, owner)
		must(owner.Revoke(ctx, ended.ID))
		Expect(r.Kill()).To(Succeed())
		_, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.Address())
		Expect(err).To(HaveOccurred())
		Expect(r.Start(ctx)).To(Succeed())
		Expect([]string{fmt.Sprint(verdict(ctx, r, kept.Key).Valid), reasonOf(ctx, r, ended.Key)}).To(Equal([]string{"true", "key revoked or expired"}))
		Expect(r.Stop()).To(Succeed())
	})
})
