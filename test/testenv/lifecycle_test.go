// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

var _ = Describe("Starting and stopping", func() {
	It("leaves no process and no temporary directory behind", func() {
		begin := time.Now()
		env := startInstance(testenv.Options{})
		AddReportEntry("start of the API server alone", time.Since(begin).Round(time.Millisecond).String())
		ids := processes(env.Dir())
		Expect(ids).To(HaveLen(2), "etcd and kube-apiserver")
		for _, id := range ids {
			Expect(process.CommandLine(id)).NotTo(BeEmpty())
		}

		Expect(env.Stop()).To(Succeed())
		for _, id := range ids {
			Expect(process.CommandLine(id)).To(BeEmpty(), "process %d is still there", id)
		}
		Expect(env.Dir()).NotTo(BeADirectory())
		Expect(env.Stop()).To(Succeed(), "a second time")
	})

	It("keeps the data of a given directory for the next start", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		env := startInstance(testenv.Options{Dir: dir})
		first := clientFor(env.AdminConfig())
		name, err := testenv.NewNamespace(ctx, first, "kept")
		Expect(err).NotTo(HaveOccurred())
		Expect(env.Stop()).To(Succeed())

		again := startInstance(testenv.Options{Dir: dir})
		second := clientFor(again.AdminConfig())
		Expect(second.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})).To(Succeed())
		Expect(first.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})).To(Succeed(),
			"the address and the authority stay the same")
	})

	It("refuses a directory in which an instance runs", func(ctx SpecContext) {
		env := startInstance(testenv.Options{Dir: GinkgoT().TempDir()})
		_, err := testenv.Start(ctx, testenv.Options{Dir: env.Dir()})
		Expect(err).To(MatchError(testenv.ErrRunning))
		Expect(env.Ready(ctx)).To(Succeed())
	})

	It("clears up after an instance that lost a process, and starts again", func(ctx SpecContext) {
		env := startInstance(testenv.Options{Dir: GinkgoT().TempDir()})
		ids := processes(env.Dir())
		kill(ids[len(ids)-1])
		Eventually(func() error {
			_, err := testenv.Attach(env.Dir())
			return err
		}).Should(MatchError(testenv.ErrNotRunning))

		again := startInstance(testenv.Options{Dir: env.Dir()})
		Expect(again.Ready(ctx)).To(Succeed())
		for _, id := range ids {
			Expect(process.CommandLine(id)).To(BeEmpty(), "process %d is still there", id)
		}
	})

	It("takes its processes along when the starting program is killed", func() {
		dir := GinkgoT().TempDir()
		helper := exec.Command(os.Args[0])
		helper.Env = append(os.Environ(), helperDirVariable+"="+dir)
		helper.Stderr = GinkgoWriter
		out, err := helper.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(helper.Start()).To(Succeed())
		line, err := bufio.NewReader(out).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(Equal("started\n"))
		ids := processes(dir)

		Expect(helper.Process.Kill()).To(Succeed())
		_ = helper.Wait() // killed
		for _, id := range ids {
			Eventually(process.CommandLine).WithArguments(id).Should(BeEmpty(), "process %d is still there", id)
		}
	})

	It("gives up when the context ends, and clears up", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		dir := GinkgoT().TempDir()
		_, err := testenv.Start(ctx, testenv.Options{Dir: dir})
		Expect(err).To(MatchError(context.Canceled))
		Expect(testenv.Inspect(dir)).To(BeEmpty())
	})

	It("runs two instances at once that know nothing of each other", func(ctx SpecContext) {
		var (
			starting sync.WaitGroup
			envs     [2]*testenv.Env
			errs     [2]error
		)
		for i := range envs {
			starting.Go(func() { envs[i], errs[i] = testenv.Start(ctx, testenv.Options{}) })
		}
		starting.Wait()
		for _, env := range envs {
			if env != nil {
				DeferCleanup(env.Stop)
			}
		}
		Expect(errors.Join(errs[:]...)).NotTo(HaveOccurred())

		Expect(envs[0].URL()).NotTo(Equal(envs[1].URL()))
		name, err := testenv.NewNamespace(ctx, clientFor(envs[0].AdminConfig()), "first")
		Expect(err).NotTo(HaveOccurred())
		other := clientFor(envs[1].AdminConfig())
		err = other.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "got %v", err)

		wrong := envs[1].AdminConfig()
		wrong.Host = envs[0].URL()
		_, err = client.New(wrong, client.Options{})
		if err == nil {
			err = clientFor(wrong).List(ctx, &corev1.NamespaceList{})
		}
		Expect(err).To(HaveOccurred(), "one instance must not trust the other's certificates")
	})
})

var _ = Describe("Leaving an instance running", func() {
	It("can be found, used and ended by whoever knows the directory", func(ctx SpecContext) {
		dir := filepath.Join(GinkgoT().TempDir(), "kept")
		started := startInstance(testenv.Options{Dir: dir, KeepRunning: true})
		ids := processes(dir)

		attached, err := testenv.Attach(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(attached.URL()).To(Equal(started.URL()))
		Expect(attached.Ready(ctx)).To(Succeed())
		Expect(clientFor(attached.AdminConfig()).List(ctx, &corev1.NamespaceList{})).To(Succeed())

		Expect(testenv.StopDir(ctx, dir, "")).To(BeTrue())
		for _, id := range ids {
			Expect(process.CommandLine(id)).To(BeEmpty(), "process %d is still there", id)
		}
		Expect(testenv.StopDir(ctx, dir, "")).To(BeFalse(), "a second time")
		_, err = testenv.Attach(dir)
		Expect(err).To(MatchError(testenv.ErrNotRunning))
	})

	It("is ended by its owner only", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		env := startInstance(testenv.Options{Dir: dir, Owner: "someone"})
		_, err := testenv.StopDir(ctx, dir, "")
		Expect(err).To(MatchError(testenv.ErrForeign))
		Expect(err).To(MatchError(ContainSubstring("someone")))
		Expect(env.Ready(ctx)).To(Succeed())
		Expect(testenv.StopDir(ctx, dir, "someone")).To(BeTrue())

		_, err = testenv.Start(ctx, testenv.Options{Dir: dir})
		Expect(err).To(MatchError(testenv.ErrForeign), "its data is not another's either")
	})

	It("needs a directory", func(ctx SpecContext) {
		_, err := testenv.Start(ctx, testenv.Options{KeepRunning: true})
		Expect(err).To(MatchError(ContainSubstring("needs a directory")))
	})

	It("does not remove a directory it has not made", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		file := filepath.Join(dir, "precious")
		Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
		Expect(testenv.RemoveDir(ctx, dir)).To(Succeed())
		Expect(file).To(BeAnExistingFile())
	})
})

func kill(pid int) {
	GinkgoHelper()
	program, err := os.FindProcess(pid)
	Expect(err).NotTo(HaveOccurred())
	Expect(program.Kill()).To(Succeed())
}

// configMap is the simplest object there is.
func configMap(namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
}
