# SPDX-License-Identifier: BSD-3-Clause
# The operator's image: one program and the libraries it needs. docker build .   (podman and buildah take it as well)
#
# For another processor than the builder's it is cross-built (make image-arm64): ARCH is Debian's name of it, CROSS the
# prefix of the compiler, QEMU the program that runs its programs.
ARG ARCH=
ARG CROSS=
ARG QEMU=

FROM debian:trixie-slim AS build
ARG ARCH
ARG CROSS
RUN of=${ARCH:+:$ARCH} && { [ -z "$ARCH" ] || dpkg --add-architecture "$ARCH"; } \
 && apt-get update \
 && apt-get install -y --no-install-recommends gcc${CROSS:+-${CROSS%-}} libc6-dev$of make pkg-config uthash-dev \
    libevent-dev$of libhwloc-dev$of libcurl4-openssl-dev$of libyaml-dev$of libjansson-dev$of libssl-dev$of \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Makefile ./
COPY base base
COPY api api
COPY operator operator
RUN [ -z "$CROSS" ] || export PKG_CONFIG_LIBDIR="/usr/lib/${CROSS%-}/pkgconfig:/usr/share/pkgconfig"; \
    make -j"$(nproc)" CC="${CROSS}gcc" AR="${CROSS}ar" build/release/bin/dvm-operator && "${CROSS}strip" build/release/bin/dvm-operator

FROM debian:trixie-slim AS root
ARG ARCH
ARG QEMU
RUN of=${ARCH:+:$ARCH} && { [ -z "$ARCH" ] || dpkg --add-architecture "$ARCH"; } \
 && apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates ${QEMU:+qemu-user} libcurl4t64$of libevent-core-2.1-7t64$of \
    libevent-extra-2.1-7t64$of libevent-openssl-2.1-7t64$of libyaml-0-2$of libjansson4$of libssl3t64$of
COPY --from=build /src/build/release/bin/dvm-operator /usr/local/bin/dvm-operator
# The program, its libraries with their licences, and the authorities of the world; no shell, no package manager.
# packages.txt names the package and version of each library.
RUN mkdir -p /out/etc/ssl/certs /out/usr/share/doc/dvm-operator \
 && cp --parents /usr/local/bin/dvm-operator /etc/ssl/certs/ca-certificates.crt /out \
 && LD_TRACE_LOADED_OBJECTS=1 $QEMU /usr/local/bin/dvm-operator | grep -o '/[^ ]*' > /tmp/libraries \
 && xargs -I LIB cp --parents --dereference LIB /out < /tmp/libraries \
 && for lib in $(cat /tmp/libraries); do dpkg-query -S "*/$(basename "$(readlink -f "$lib")")" | cut -d: -f1; done \
    | grep -v '^diversion ' | sort -u > /tmp/packages && echo ca-certificates >> /tmp/packages \
 && xargs dpkg-query -W -f '${Package} ${Version} ${Architecture} ${source:Package}\n' < /tmp/packages \
    | awk -v arch="${ARCH:-$(dpkg --print-architecture)}" '$3 == arch || $3 == "all"' \
    > /out/usr/share/doc/dvm-operator/packages.txt \
 && for package in $(cat /tmp/packages); do cp --parents "/usr/share/doc/$package/copyright" /out; done
# The program starts with these files alone.
RUN if [ -n "$QEMU" ]; then "$QEMU" -L /out /out/usr/local/bin/dvm-operator --version; else chroot /out /usr/local/bin/dvm-operator --version; fi

FROM scratch
COPY --from=root /out /
LABEL org.opencontainers.image.title="dvm-operator" org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.description="Runs elastic DVMs for MPI and PMIx jobs on Kubernetes" \
      org.opencontainers.image.version="0.1.0"
# Any other numeric user does as well; nothing is written.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/dvm-operator"]
