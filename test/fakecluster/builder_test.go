// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

func TestTheObjectsOfATestStayAsTheyAre(t *testing.T) {
	t.Parallel()
	mine := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "red"}}
	cluster := fakecluster.Holding(scheme.Scheme, mine).Build()
	held := &corev1.Namespace{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(mine), held); err != nil {
		t.Fatal(err)
	}
	if held.ResourceVersion == "" || mine.ResourceVersion != "" {
		t.Errorf("resource versions: %q in the cluster, %q in the test's object, want only the first", held.ResourceVersion, mine.ResourceVersion)
	}
}
