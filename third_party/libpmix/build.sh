#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the libpmix that is linked into the daemon: build.sh DIRECTORY [FLAG…]
#
# WITHOUT=NUMBER leaves out the patch of this number, and those that need it (prove.sh).
#
# What is built goes to DIRECTORY: include/ and lib/libpmix.a. It is kept in the cache, by the source, the patches, the
# compiler (CC) and the flags; so is the configured source. No symbol of it is visible outside the program that it is
# linked into. The objects are compiled here: the package's own makefiles take three times as long.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=third_party/libpmix/source.sh
. "$here/source.sh"
export CC=${CC:-gcc}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dvm-operator

# What a server for clients of libpmix 4 and 5 does not use: older protocols, memory shared by stores, compression,
# tools' and clients' transports, sensors, other regular expressions, fabrics, and what reads other runtimes' files and
# environment.
LEFT_OUT=bfrops-v12,bfrops-v20,bfrops-v21,bfrops-v3,gds-shmem2,pcompress-zlib,pcompress-zlibng
LEFT_OUT+=,pif-linux_ipv6,pif-solaris_ipv6,pinstalldirs-env
LEFT_OUT+=,plog-stdfd,plog-syslog,pmdl-ompi,pnet-opa,preg-compress,psec-dummy_handshake,psec-munge
LEFT_OUT+=,psensor-file,psensor-heartbeat,pstat-linux,pstat-test,ptl-client,ptl-tool
OPTIONS=(--prefix=/usr/lib/dvm --enable-static --disable-shared --with-pic --disable-visibility --disable-dlopen
    --disable-pmix-dlopen --disable-pmix-binaries --disable-per-user-config-files --disable-python-bindings
    --disable-dependency-tracking --without-zlib --without-zlibng --without-munge --without-libltdl
    --enable-mca-no-build="$LEFT_OUT")
# A compiler for another processor has its machine's name before its own: aarch64-linux-gnu-gcc.
case $CC in *-gcc) OPTIONS+=(--host="$(basename "${CC##* }" -gcc)") ;; esac
FLAGS=(-g -fPIC -fvisibility=hidden -fno-common -fno-strict-aliasing -w -DNDEBUG -DHAVE_CONFIG_H
    -DPMIX_PROXY_VERSION_STRING=PMIX_VERSION -Iextend
    -iquote build -iquote openpmix -iquote openpmix/src -iquote build/include -Ibuild/src/include -Ibuild/include
    -Iopenpmix/include -Ibuild/src -Iopenpmix/src)

say() { printf '%s\n' "$*" >&2; }
die() { say "libpmix: $*"; exit 1; }

compiler() { "${CC##* }" -v 2>&1; pkg-config --modversion libevent hwloc; }
key() { sha256sum | cut -c 1-16; }

# configured: the folder that has the source, and what the configuration makes of it with the plain compiler.
configured() {
    local to tarball
    to=$cache/libpmix-$VERSION-source-$({ cat "$here/source.sh"; printf '%s\n' "${OPTIONS[@]}"; compiler; } | key)
    exec 8> "$to.lock"
    flock 8
    if ! [ -d "$to" ]; then
        tarball=$("$here/fetch.sh")
        rm -rf "$to.work"
        mkdir -p "$to.work/build"
        tar -x -f "$tarball" -C "$to.work" --strip-components=2 "$FOLDER"
        (cd "$to.work/build" && ../openpmix/configure "${OPTIONS[@]}" CC="$CC" > configure.log 2>&1) ||
            die "configure failed: $to.work/build/configure.log"
        mv "$to.work" "$to"
    fi
    exec 8>&-
    printf '%s\n' "$to"
}

unpack() {
    local patch from said
    from=$(configured)
    cp -r "$from/." "$here/extend" "$1"
    for patch in "$here"/patches/*.patch; do
        said=$(patch -d "$1/openpmix" -p1 --batch --fuzz=0 --no-backup-if-mismatch < "$patch") ||
            die "$patch does not apply: $said"
        [[ $said != *offset* ]] || die "$patch has hunks at other lines: $said"
    done
    [ -z "${WITHOUT:-}" ] || take_back "$1"
}

# Also those patches that name this one after "Needs:", first. A hunk that another patch has replaced cannot be taken
# back, and stays.
take_back() {
    local patch
    for patch in $(grep -l "^Needs: .*$WITHOUT" "$here"/patches/*.patch | sort -r) "$here/patches/$WITHOUT"-*; do
        patch -R -d "$1/openpmix" -p1 --batch --no-backup-if-mismatch < "$patch" >&2 || [ $? -eq 1 ]
    done
}

# In the work folder: the sources of the library, of its components those that the configuration has chosen.
sources() {
    local components
    components=$(sed -nE 's,^extern .* pmix_mca_([a-z]+)_(\w+)_component;,openpmix/src/mca/\1/\2,p' \
        build/src/mca/*/base/static-components.h | sort -u)
    find openpmix/src -name '*.c' -not -path 'openpmix/src/tools/*' -not -path 'openpmix/src/mca/*/*/*'
    find openpmix/src/mca/*/base -name '*.c'
    # shellcheck disable=SC2086  # a folder each
    find $components -name '*.c'
    find extend -name '*.c'
}

compile() {
    (
        cd "$1"
        shift
        FLAGS+=("-ffile-prefix-map=$PWD=libpmix" "$@")
        mkdir objects
        export WITH="${FLAGS[*]}"
        # shellcheck disable=SC2016  # for the inner shell
        sources | sort -u | xargs -P "$(nproc)" -n 4 sh -c 'for c; do
            $CC $WITH -c "$c" -o "objects/$(echo "${c%.c}" | tr / .).o" || exit 255
        done' sh
        "${AR:-ar}" crs libpmix.a objects/*.o
    ) >&2
}

install_to() {
    mkdir -p "$2/include" "$2/lib"
    cp "$1/openpmix/include/"pmix*.h "$1/build/include/"pmix*.h "$1"/extend/*.h "$2/include/"
    cp "$1/libpmix.a" "$2/lib/"
}

make_into() {
    local to=$1 work=$1.work start=$SECONDS
    shift
    say "libpmix $VERSION: building with $CC $*"
    rm -rf "$work" "$to.new"
    mkdir -p "$work"
    unpack "$work"
    compile "$work" "$@"
    install_to "$work" "$to.new"
    rm -rf "$work"
    mv "$to.new" "$to"
    say "libpmix $VERSION: built in $((SECONDS - start)) s"
}

[ $# -ge 1 ] || die "usage: build.sh DIRECTORY [FLAG…]"
directory=$1
shift
mkdir -p "$cache" "$directory"
built=$cache/libpmix-$VERSION-$({
    cat "$here"/{build,fetch,source}.sh "$here"/patches/* "$here"/extend/*
    compiler
    printf '%s\n' "$@" ${WITHOUT:+"without $WITHOUT"}
} | key)
exec 9> "$built.lock"
flock 9
[ -d "$built" ] || make_into "$built" "$@"
cp -r "$built/." "$directory"
