// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("devstack outside of a checkout", func() {
	It("says where to run it, and writes nothing", func() {
		dir := GinkgoT().TempDir()
		for _, command := range []string{"status", "down", "clean", "up", "run", "kubeconfig"} {
			cmd := exec.Command(programs.devstack, command)
			cmd.Dir = dir
			session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
			Expect(err).NotTo(HaveOccurred())
			Eventually(session).WithTimeout(commandTimeout).Should(gexec.Exit(1))
			Expect(string(session.Err.Contents())).To(ContainSubstring("run this in the checkout"), command)
			Expect(os.ReadDir(dir)).To(BeEmpty(), command)
		}
	})
})
