# SPDX-License-Identifier: BSD-3-Clause
# The operator's image: one program and the libraries it needs. docker build .   (podman and buildah take it as well)
FROM debian:trixie-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config libpmix-dev libopenmpi-dev libevent-dev \
    libhwloc-dev libcurl4-openssl-dev libyaml-dev libjansson-dev libssl-dev uthash-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Makefile ./
COPY base base
COPY api api
COPY operator operator
RUN make -j"$(nproc)" build/release/bin/dvm-operator && strip build/release/bin/dvm-operator

FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libcurl4t64 libevent-2.1-7t64 libevent-openssl-2.1-7t64 \
    libyaml-0-2 libjansson4 libssl3t64 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY --from=build /src/build/release/bin/dvm-operator /usr/local/bin/dvm-operator
# Any other numeric user does as well; nothing is written.
USER 65532:65532
ENTRYPOINT ["dvm-operator"]
