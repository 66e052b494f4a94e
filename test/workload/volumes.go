// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// files are the contents of a volume by their paths in it.
type files map[string][]byte

// volumes are the directories of a Pod's volumes.
type volumes struct {
	dir  string
	pod  *corev1.Pod
	from content
	// token makes a token of the Pod's ServiceAccount.
	token func(ctx context.Context, audience string) (string, error)

	tokens  map[string][]byte
	written map[string]files
}

func (v *volumes) path(name string) string { return filepath.Join(v.dir, "volumes", name) }

// sync brings every volume up to date, as a kubelet does also while the Pod runs.
func (v *volumes) sync(ctx context.Context) error {
	for i := range v.pod.Spec.Volumes {
		volume := &v.pod.Spec.Volumes[i]
		wanted, err := v.contents(ctx, volume)
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", volume.Name, err)
		}
		if err := v.write(volume.Name, wanted); err != nil {
			return err
		}
	}
	return nil
}

// contents are the files of a volume; nil if it begins empty.
func (v *volumes) contents(ctx context.Context, volume *corev1.Volume) (files, error) {
	switch {
	case volume.EmptyDir != nil:
		return nil, nil
	case volume.Secret != nil:
		s := volume.Secret
		return v.object("Secret", s.SecretName, s.Items, isTrue(s.Optional), v.from.secret)
	case volume.ConfigMap != nil:
		m := volume.ConfigMap
		return v.object("ConfigMap", m.Name, m.Items, isTrue(m.Optional), v.from.configMap)
	case volume.DownwardAPI != nil:
		return v.downward(volume.DownwardAPI.Items)
	case volume.Projected != nil:
		all := files{}
		for i := range volume.Projected.Sources {
			some, err := v.projected(ctx, &volume.Projected.Sources[i])
			if err != nil {
				return nil, err
			}
			maps.Copy(all, some)
		}
		return all, nil
	default:
		return nil, fmt.Errorf("it is of a kind that is not understood here")
	}
}

func (v *volumes) projected(ctx context.Context, source *corev1.VolumeProjection) (files, error) {
	switch {
	case source.Secret != nil:
		s := source.Secret
		return v.object("Secret", s.Name, s.Items, isTrue(s.Optional), v.from.secret)
	case source.ConfigMap != nil:
		m := source.ConfigMap
		return v.object("ConfigMap", m.Name, m.Items, isTrue(m.Optional), v.from.configMap)
	case source.DownwardAPI != nil:
		return v.downward(source.DownwardAPI.Items)
	case source.ServiceAccountToken != nil:
		t := source.ServiceAccountToken
		if v.tokens[t.Audience] == nil {
			token, err := v.token(ctx, t.Audience)
			if err != nil {
				return nil, err
			}
			v.tokens[t.Audience] = []byte(token)
		}
		return files{t.Path: v.tokens[t.Audience]}, nil
	default:
		return nil, fmt.Errorf("it has a source of a kind that is not understood here")
	}
}

// object are the contents of a Secret or ConfigMap, or those of its keys that items
// name.
func (v *volumes) object(kind, name string, items []corev1.KeyToPath, may bool, read func(string) (map[string][]byte, error)) (files, error) {
	values, err := optional(may, name, read)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return maps.Clone(files(values)), nil
	}
	some := files{}
	for _, item := range items {
		value, found := values[item.Key]
		if !found && !may {
			return nil, fmt.Errorf("references non-existent %s key: %s in %s/%s", strings.ToLower(kind), item.Key, v.pod.Namespace, name)
		}
		if found {
			some[item.Path] = value
		}
	}
	return some, nil
}

func (v *volumes) downward(items []corev1.DownwardAPIVolumeFile) (files, error) {
	all := files{}
	for _, item := range items {
		if item.FieldRef == nil {
			return nil, fmt.Errorf("it has an item of a kind that is not understood here")
		}
		value, err := field(v.pod, item.FieldRef.FieldPath)
		if err != nil {
			return nil, err
		}
		all[item.Path] = []byte(value)
	}
	return all, nil
}

// write replaces the files of a volume in one step: each is a link through one link
// to a directory, which is exchanged. A volume that begins empty is only made.
func (v *volumes) write(name string, wanted files) error {
	dir := v.path(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make volume: %w", err)
	}
	before, again := v.written[name]
	if again && maps.EqualFunc(before, wanted, bytes.Equal) {
		return nil
	}
	fresh, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return fmt.Errorf("make volume: %w", err)
	}
	for path, value := range wanted {
		file := filepath.Join(fresh, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("write volume: %w", err)
		}
		if err := os.WriteFile(file, value, 0o600); err != nil {
			return fmt.Errorf("write volume: %w", err)
		}
	}
	if err := exchange(dir, fresh, tops(before), tops(wanted)); err != nil {
		return fmt.Errorf("write volume: %w", err)
	}
	v.written[name] = wanted
	return nil
}

// tops are the first parts of paths.
func tops(f files) []string {
	var names []string
	for path := range f {
		top, _, _ := strings.Cut(path, "/")
		names = append(names, top)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exchange lets a volume show another directory.
func exchange(dir, fresh string, before, after []string) error {
	const data = "..data"
	link := filepath.Join(dir, data)
	old, _ := os.Readlink(link) // There is none the first time.
	if err := os.Symlink(filepath.Base(fresh), link+"_new"); err != nil {
		return err
	}
	if err := os.Rename(link+"_new", link); err != nil {
		return err
	}
	for _, name := range after {
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}
