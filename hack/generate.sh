#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0

# Regenerates everything that is derived from Go types: deep copies, CRDs, the
# operator's role and the reference documentation.
#
#   hack/generate.sh             all of them
#   hack/generate.sh object crd  only the named ones: object, crd, rbac, docs
#
# CONTROLLER_GEN names a controller-gen program; without it the pinned one is built
# into bin/ (a second time from the build cache).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

controller_gen() {
  if [[ -z "${CONTROLLER_GEN:-}" ]]; then
    (cd hack/tools/gen && CGO_ENABLED=0 go build -mod=readonly -trimpath -o ../../../bin/controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen)
    CONTROLLER_GEN=bin/controller-gen
  fi
  "${CONTROLLER_GEN}" "$@"
}

generate() {
  case "$1" in
  object) controller_gen object:headerFile=hack/boilerplate.go.txt paths=./api/... ;;
  crd) controller_gen crd:allowDangerousTypes=false,generateEmbeddedObjectMeta=false paths=./api/... output:crd:dir=config/crd/bases ;;
  rbac)
    if compgen -G 'controllers/*/*.go' >/dev/null; then
      controller_gen rbac:roleName=maas-controller "paths=./controllers/...;./internal/..." output:rbac:dir=config/rbac
    fi
    ;;
  docs) go run -mod=readonly ./test/cmd/docgen -crds config/crd/bases -api api/v1alpha1 -values templates/values -out docs/reference ;;
  *)
    echo "unknown target $1: use object, crd, rbac or docs" >&2
    exit 2
    ;;
  esac
}

if [[ $# -eq 0 ]]; then
  set -- object crd rbac docs
fi
for target in "$@"; do
  generate "${target}"
done
