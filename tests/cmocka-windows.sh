#!/bin/sh
# SPDX-License-Identifier: ISC
# Builds CMocka for Windows, which Debian does not package, of the sources of
# Debian's package: cmocka-windows.sh HOST DIRECTORY, where HOST is the prefix of
# the compiler.  Afterwards there are DIRECTORY/cmocka.h and
# DIRECTORY/libcmocka.a.  Says why if it cannot, and fails.
set -u
host=$1
directory=$2
[ ! -f "$directory/libcmocka.a" ] || exit 0

no() {
	echo "no CMocka for Windows: $*" >&2
	exit 1
}

command -v apt-get >/dev/null 2>&1 || no "there is no apt-get"
mkdir -p "$directory/apt/lists/partial" "$directory/apt/cache/archives/partial"
cd "$directory" || exit 1

# Lists of their own, so that the system's stay as they are.
# shellcheck disable=SC1091
suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[ -n "$suite" ] || no "this is no release of Debian"
cat >apt/sources.list <<END
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main
END
apt() {
	apt-get -q -o Dir::Etc::SourceList="$PWD/apt/sources.list" \
	    -o Dir::Etc::SourceParts=/dev/null \
	    -o Dir::State::Lists="$PWD/apt/lists" \
	    -o Dir::Cache="$PWD/apt/cache" "$@" >>apt.log 2>&1
}
apt update && apt source --download-only cmocka || {
	cat apt.log >&2
	no "its sources cannot be had"
}
rm -rf apt source
mkdir source
for archive in cmocka_*.orig.tar.*; do
	case $archive in
	*.asc) ;;
	*) tar -xf "$archive" -C source --strip-components=1 || exit 1 ;;
	esac
done

cat >source/config.h <<'END'
#define HAVE_ASSERT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_IO_H 1
#define HAVE_MALLOC_H 1
#define HAVE_SIGNAL_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRINGS_H 1
#define HAVE_TIME_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SNPRINTF 1
#define HAVE_VSNPRINTF 1
#define HAVE_GCC_THREAD_LOCAL_STORAGE 1
#define HAVE_STRUCT_TIMESPEC 1
#define WORDS_SIZEOF_VOID_P 8
END
"$host-gcc" -std=gnu99 -O2 -D__USE_MINGW_ANSI_STDIO=1 -DHAVE_CONFIG_H \
    -Isource -Isource/include -c source/src/cmocka.c -o cmocka.o &&
    "$host-ar" rcs libcmocka.part cmocka.o &&
    cp source/include/cmocka.h . &&
    mv libcmocka.part libcmocka.a || no "it does not compile"
