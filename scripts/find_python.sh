#!/bin/sh
# Print the Python that makes .venv: the one named as first argument, else the first of the list that fits.
# Fits: Python 3.11, 3.12 or 3.13 that can make a virtual environment.

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

can_make_venv() {
    "$1" -c 'import venv, ensurepip' >/dev/null 2>&1
}

no_venv() {
    echo "make: $1 cannot make a virtual environment; install its venv module (Debian, Ubuntu: apt-get install python3-venv) and run make again." >&2
    exit 1
}

if [ -n "$1" ]; then
    version=$(version_of "$1")
    case "$version" in
        3.11 | 3.12 | 3.13) ;;
        "") echo "make: PYTHON=$1 does not run; name a Python 3.11, 3.12 or 3.13." >&2; exit 1 ;;
        *) echo "make: PYTHON=$1 is Python ${version#Python }, but the book needs 3.11, 3.12 or 3.13." >&2; exit 1 ;;
    esac
    can_make_venv "$1" || no_venv "$1"
    command -v "$1"
    exit 0
fi

right_version=""
found=""
for name in python3.11 python3.12 python3.13 python3; do
    version=$(version_of "$name") || continue
    found="$found, $name is $version"
    case "$version" in
        3.11 | 3.12 | 3.13)
            if can_make_venv "$name"; then
                command -v "$name"
                exit 0
            fi
            right_version=${right_version:-$name}
            ;;
    esac
done

[ -n "$right_version" ] && no_venv "$right_version"
echo "make: the book needs Python 3.11, 3.12 or 3.13, which is not on the PATH${found}; install one, or name it with PYTHON=/path/to/python3.11." >&2
exit 1
