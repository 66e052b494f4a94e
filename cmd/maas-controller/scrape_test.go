// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// scraper reads the metrics as a ServiceAccount that may do nothing else.
type scraper struct{ url, token string }

func newScraper(ctx context.Context, admin *rest.Config, address string) scraper {
	GinkgoHelper()
	const name, namespace = "scraper", "default"
	cluster, err := kubernetes.NewForConfig(admin)
	Expect(err).NotTo(HaveOccurred())
	meta := metav1.ObjectMeta{Name: name}
	_, err = cluster.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	token, err := cluster.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return scraper{"https://" + address + "/metrics", token.Status.Token}
}

// samples returns the values by series, both as the text format writes them.
func (s scraper) samples(ctx context.Context) (map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	insecure := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	response, err := insecure.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape: %s", response.Status)
	}
	out := map[string]string{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if series, value, found := strings.Cut(lines.Text(), " "); found && !strings.HasPrefix(series, "#") {
			out[series] = value
		}
	}
	return out, lines.Err()
}

// value returns the value of one series; empty when there is none.
func (s scraper) value(ctx context.Context, series string) func(Gomega) string {
	return func(g Gomega) string {
		found, err := s.samples(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		return found[series]
	}
}

// accept puts into a policy's status what Kuadrant says of one that it enforces.
func accept(policy *unstructured.Unstructured) {
	var conditions []any
	for _, kind := range []string{"Accepted", "Enforced"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	policy.Object["status"] = map[string]any{"observedGeneration": policy.GetGeneration(), "conditions": conditions}
}
