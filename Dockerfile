# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The images of the project's programs, from one build: maas-controller by default,
# maas-api with "--target maas-api". Both base images can be replaced at build time.
ARG BUILDER_IMAGE=registry.access.redhat.com/ubi9/go-toolset:1.26
ARG BASE_IMAGE=registry.access.redhat.com/ubi9/ubi-micro:9.7

FROM ${BUILDER_IMAGE} AS builder
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.0.0-dev
ARG COMMIT=unknown
ARG COMMIT_DATE=unknown
USER root
WORKDIR /workspace
# Modules first: this layer changes only with them.
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY controllers/ controllers/
COPY internal/ internal/
COPY templates/ templates/
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -mod=readonly -trimpath -buildvcs=false -o bin/ \
    -ldflags "-s -w \
      -X github.com/opendatahub-io/maas-operator/internal/version.version=${VERSION} \
      -X github.com/opendatahub-io/maas-operator/internal/version.commit=${COMMIT} \
      -X github.com/opendatahub-io/maas-operator/internal/version.date=${COMMIT_DATE}" \
    ./cmd/maas-api ./cmd/maas-controller

FROM ${BASE_IMAGE} AS maas-api
COPY --from=builder /workspace/bin/maas-api /maas-api
COPY LICENSE /licenses/LICENSE
USER 65532:65532
ENTRYPOINT ["/maas-api"]

FROM ${BASE_IMAGE} AS maas-controller
COPY --from=builder /workspace/bin/maas-controller /manager
COPY LICENSE /licenses/LICENSE
USER 65532:65532
ENTRYPOINT ["/manager"]
