// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// judgements are what Kuadrant says of all policies, watched and without their specs:
// lists of hundreds would slow down what is measured.
type judgements struct{ reader client.Reader }

// watchJudgements ends with the specs around.
func watchJudgements(ctx context.Context, config *rest.Config) *judgements {
	GinkgoHelper()
	reader, err := cache.New(config, cache.Options{DefaultTransform: func(object any) (any, error) {
		if policy, ok := object.(*unstructured.Unstructured); ok {
			delete(policy.Object, "spec")
			policy.SetManagedFields(nil)
		}
		return object, nil
	}})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // It outlives the node that starts it.
	ended := make(chan error, 1)
	go func() { ended <- reader.Start(ctx) }()
	DeferCleanup(func() error { cancel(); return <-ended })
	return &judgements{reader: reader}
}

// waiting shows how many of the policies of models Kuadrant does not enforce as they
// are now, and the first of them; empty when there is none.
func (j *judgements) waiting(ctx context.Context, names ...string) func() (string, error) {
	return func() (string, error) {
		count, first := 0, ""
		for _, name := range names {
			for _, policy := range []*unstructured.Unstructured{authPolicy(name), limits(name)} {
				key := client.ObjectKeyFromObject(policy)
				verdict := "missing"
				if err := j.reader.Get(ctx, key, policy); client.IgnoreNotFound(err) != nil {
					return "", err
				} else if err == nil {
					verdict = verdictOn(policy)
				}
				if verdict != "" {
					if count++; first == "" {
						first = fmt.Sprintf("%s %s is %s", policy.GetKind(), key, verdict)
					}
				}
			}
		}
		if count == 0 {
			return "", nil
		}
		return fmt.Sprintf("%d of %d, for instance %s", count, 2*len(names), first), nil
	}
}

// generation is that of the limits of a model.
func (j *judgements) generation(ctx context.Context, name string) (int64, error) {
	policy := limits(name)
	err := j.reader.Get(ctx, client.ObjectKeyFromObject(policy), policy)
	return policy.GetGeneration(), err
}

func authPolicy(model string) *unstructured.Unstructured {
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace(stage.ModelNamespace)
	policy.SetName("maas-auth-" + model)
	return policy
}

func limits(model string) *unstructured.Unstructured {
	policy := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	policy.SetNamespace(stage.ModelNamespace)
	policy.SetName("maas-trlp-" + model)
	return policy
}

// verdictOn says what keeps a policy from being enforced; empty when nothing does.
func verdictOn(policy *unstructured.Unstructured) string {
	observed, _, err := unstructured.NestedInt64(policy.Object, "status", "observedGeneration")
	if err != nil || observed != policy.GetGeneration() {
		return "not judged yet"
	}
	conditions, err := status.Conditions(policy)
	if err != nil {
		return err.Error()
	}
	for _, kind := range []string{"Accepted", "Enforced"} {
		if c := meta.FindStatusCondition(conditions, kind); c == nil {
			return "without " + kind
		} else if c.Status != "True" {
			return fmt.Sprintf("not %s: %s: %s", kind, c.Reason, c.Message)
		}
	}
	return ""
}
