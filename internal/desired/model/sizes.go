// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Sizes are what the policies of a model weigh, for warnings and metrics.
type Sizes struct {
	// AuthPolicy and TokenRateLimitPolicy are of the rendered objects, see
	// [Sizes.Weigh]; zero for a policy that is not wanted.
	AuthPolicy, TokenRateLimitPolicy ObjectSize
	// Subjects is the number of distinct users and groups of the model, and
	// SubjectBytes the length of their names together, whether or not the
	// AuthPolicy holds them.
	Subjects, SubjectBytes int
	// Limits are those of the TokenRateLimitPolicy, in its order.
	Limits []LimitSize
	// LimitBytes is about what the limits add to the TokenRateLimitPolicy's JSON.
	LimitBytes int
	// LeftOut is the number of subscriptions the TokenRateLimitPolicy has no
	// room for.
	LeftOut int
}

// ObjectSize is what one object weighs.
type ObjectSize struct {
	// Bytes is the length of the object's JSON, as it is sent.
	Bytes int
	// AnnotationBytes is the length of all keys and values of its annotations.
	AnnotationBytes int
}

// LimitSize is what one limit weighs.
type LimitSize struct {
	// Name is the limit's.
	Name string
	// Members is the number of subscriptions it holds for.
	Members int
	// CodePoints is the length of its predicate.
	CodePoints int
}

// Weigh returns the sizes with those of the rendered objects.
func (s Sizes) Weigh(objects []*unstructured.Unstructured) Sizes {
	s.AuthPolicy, s.TokenRateLimitPolicy = ObjectSize{}, ObjectSize{}
	for _, object := range objects {
		size := ObjectSize{Bytes: jsonSize(object.Object)}
		for key, value := range object.GetAnnotations() {
			size.AnnotationBytes += len(key) + len(value)
		}
		if object.GetKind() == kuadrant.AuthPolicy.Kind {
			s.AuthPolicy = size
		} else {
			s.TokenRateLimitPolicy = size
		}
	}
	return s
}

// jsonSize is the length of a value's JSON without making it: objects are
// large, and this is done at each reconcile.
func jsonSize(node any) int {
	const number = 8 // Close enough: there are few.
	switch typed := node.(type) {
	case map[string]any:
		size := len("{}")
		for key, value := range typed {
			size += len(`"":,`) + len(key) + jsonSize(value)
		}
		return size
	case []any:
		size := len("[]")
		for _, value := range typed {
			size += len(",") + jsonSize(value)
		}
		return size
	case string:
		return quotedSize(typed)
	default:
		return number
	}
}

// quotedSize is the length of a JSON string.
func quotedSize(text string) int {
	size := len(`""`)
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\t' || r == '\r':
			size += len(`\"`)
		case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			size += len(`\u0000`)
		default:
			size += utf8.RuneLen(r)
		}
	}
	return size
}

const (
	// maxObject bounds a generated object, in bytes of JSON: etcd takes requests of
	// 1.5 MiB, and the API server adds managedFields.
	maxObject = 1 << 20
	// maxAnnotations is what the API server allows an object's annotations
	// together, in bytes.
	maxAnnotations = 256 << 10
)

// Near names, in words for a message, the bounds of which four fifths are used;
// of annotations one half, since their lists are cut before they come close. It
// is empty while there is room.
func (s Sizes) Near() []string {
	var near []string
	add := func(used, of, bound int, name string) {
		if used*of > bound*(of-1) {
			near = append(near, name)
		}
	}
	add(max(s.AuthPolicy.Bytes, s.TokenRateLimitPolicy.Bytes), 5, maxObject, "the size of an object (1 MiB)")
	add(max(s.AuthPolicy.AnnotationBytes, s.TokenRateLimitPolicy.AnnotationBytes), 2, maxAnnotations, "an object's annotations (256 KiB)")
	add(s.LimitBytes, 5, maxLimits, "the limits together (768 KiB)")
	longest := 0
	for _, limit := range s.Limits {
		longest = max(longest, limit.CodePoints)
	}
	add(longest, 5, maxPredicate, "the subscriptions of equal rates (50000 characters)")
	if s.Subjects <= maxSubjects && s.SubjectBytes <= maxSubjectBytes { // Else SubjectsInlined says so.
		add(s.Subjects, 5, maxSubjects, "the subjects (256)")
		add(s.SubjectBytes, 5, maxSubjectBytes, "the names of subjects (16 KiB)")
	}
	return near
}
