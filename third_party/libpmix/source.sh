# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # read by fetch.sh and build.sh
# Which libpmix is built: the folder FOLDER of a package of Debian's sources.
VERSION=5.0.5
POOL=pool/main/o/openmpi
TARBALL=openmpi_5.0.7.orig.tar.xz
SHA256=97f10c04e9b9a1771db3fd005009e4c07afa3ce739f940e41eb0fc7397cb9473
FOLDER=openmpi-5.0.7/3rd-party/openpmix
