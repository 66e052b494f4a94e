// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes the status of after when it differs from that of before once
// both are written as JSON (an empty list equals an absent one, and times count in
// seconds), as one merge patch that fails with a conflict when the object has moved on since
// it was read. It reports whether a request was made. Differences outside the
// status are not sent. On success after carries the server's answer.
//
// A conflict is returned like any other error: the caller has decided on a stale
// object and must decide again.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object, opts ...client.SubResourcePatchOption) (bool, error) {
	data, err := statusPatch(before, after)
	if err != nil || data == nil {
		return false, err
	}
	if err := c.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, data), opts...); err != nil {
		return true, fmt.Errorf("patch status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return true, nil
}

// StatusDiffers tells whether PatchStatus would make a request.
func StatusDiffers(before, after client.Object) (bool, error) {
	data, err := statusPatch(before, after)
	return data != nil, err
}

// statusPatch returns the merge patch, or nil when nothing changed.
func statusPatch(before, after client.Object) ([]byte, error) {
	b, err := statusOf(before)
	if err != nil {
		return nil, err
	}
	a, err := statusOf(after)
	if err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(b, a) {
		return nil, nil
	}
	version := after.GetResourceVersion()
	patch := client.MergeFromWithOptions(statusOnly(version, b), client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(statusOnly(version, a))
	if err != nil {
		return nil, fmt.Errorf("compare statuses: %w", err)
	}
	return data, nil
}

// statusOnly carries a status and the version the patch depends on, nothing else.
func statusOnly(resourceVersion string, status map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetResourceVersion(resourceVersion)
	return u
}

func statusOf(obj client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read status of %T: %w", obj, err)
	}
	status, ok := content["status"].(map[string]any)
	if !ok {
		return map[string]any{}, nil
	}
	return status, nil
}
