#!/bin/sh
# Print the Python that makes or holds the environment: $PYTHON where it is set, else the first of a list that fits.
#
#     sh scripts/find_python.sh          Python 3.11, 3.12 or 3.13 that can make a virtual environment
#     sh scripts/find_python.sh cuda     a Python whose torch finds a GPU, whoever installed it
list=".venv/bin/python python3.11 python3.12 python3.13 python3"
needs="the book needs Python 3.11, 3.12 or 3.13 with its venv module (Debian, Ubuntu: apt-get install python3-venv)"
fits="import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))"
if [ "$1" = cuda ]; then
    list=".venv/bin/python python3 python"
    needs="gpu-check needs an NVIDIA GPU and Python 3.11 or newer whose torch finds it"
    fits="import sys, torch; sys.exit(sys.version_info < (3, 11) or not torch.cuda.is_available())"
fi

if [ -n "$PYTHON" ]; then set -- "$PYTHON"; else set -- $list; fi
for name in "$@"; do
    if "$name" -c "$fits" >/dev/null 2>&1; then
        command -v "$name"
        exit 0
    fi
    version=$("$name" --version 2>/dev/null) && found="$found, $name is $version"
done
echo "make: $needs; none of these fits: $*${found}. Name one with PYTHON=/path/to/python." >&2
exit 1
