#!/bin/sh
# SPDX-License-Identifier: ISC
# Stands for the tests that need CMocka, where there is none.
echo "CMocka was not found when this was configured (libcmocka-dev or alike):"
echo "of the tests only the scripts and the example are run"
exit 77
