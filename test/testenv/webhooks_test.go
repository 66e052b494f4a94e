// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheWayToTheWebhooksIsNotTheShippedOne(t *testing.T) {
	t.Parallel()
	shipped, err := loadWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range shipped {
		got := want.DeepCopy()
		if err := callURL(got, "https://127.0.0.1:1", []byte("authority")); err != nil {
			t.Fatal(err)
		}
		webhooks := got.Object["webhooks"].([]any)
		for i, w := range want.Object["webhooks"].([]any) {
			before, after := w.(map[string]any), webhooks[i].(map[string]any)
			path := before["clientConfig"].(map[string]any)["service"].(map[string]any)["path"].(string)
			way := map[string]any{"url": "https://127.0.0.1:1" + path, "caBundle": "YXV0aG9yaXR5"}
			if diff := cmp.Diff(any(way), after["clientConfig"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", before["name"], diff)
			}
			after["clientConfig"] = before["clientConfig"]
		}
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("what changed beside the way (-want +got):\n%s", diff)
		}
	}
}
