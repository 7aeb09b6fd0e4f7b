"""Build script of the WebAssembly module for `fp9 explore`: `python -m fp9.cmodel.webassembly`."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from fp9.cmodel.blocks import BlockText, block_text, tensor_scale_text
from fp9.cmodel.dot_products import EngineText, engine_text, function_name
from fp9.cmodel.headers import shared
from fp9.cmodel.library import operand_formats
from fp9.cmodel.steps import CUTS
from fp9.cmodel.text import filled, identifier, part
from fp9.engines import Engine
from fp9.formats import TABLE_BITS, Format
from fp9.formats.blocks import BlockFormat
from fp9.studies.explorer.page import BLOCK_LIST, ENGINE_LIST, FORMAT_LIST, MODULE, MOST
from fp9.units import TENSOR_SCALE

_OPTIONS = ("-Oz", "-std=c99", "-Wall", "-Wextra", "-ffreestanding", "-fno-builtin", "-nostdlib")
_LINKED = ("-Wl,--no-entry", "-Wl,--strip-all")
_HEAD = "#define FP9_NO_FLOAT\n#define FP9_FN static __attribute__((noinline, unused))\n"


def source() -> str:
    operands = [fmt for fmt in operand_formats(FORMAT_LIST) if fmt.bits <= TABLE_BITS]
    made: list[EngineText | BlockText] = [engine_text(engine, operands, [], "observe") for engine in ENGINE_LIST]
    made += [block_text(b, [b.rule(name) for name in b.rules], b.name, TENSOR_SCALE) for b in BLOCK_LIST]
    formats = [*FORMAT_LIST, *(fmt for text in made for fmt in text.formats)]
    records = filled(part("record", ".c"), _sizes(ENGINE_LIST) | {"windows": "\n".join(map(_window, ENGINE_LIST))})
    cases = {
        "most": MOST,
        "longest": max(MOST, *(block.length for block in BLOCK_LIST)),
        "decodes": _switch(f"return fp9_{identifier(fmt)}_decode(code)" for fmt in FORMAT_LIST),
        "encodes": _switch(f"return fp9_{identifier(fmt)}_encode(x, p, &raised)" for fmt in FORMAT_LIST),
        "sums": _switch(_sum(engine, operands) for engine in ENGINE_LIST),
        "blocks": _switch(f"return {block.name}_block(x, whole, rule, element)" for block in BLOCK_LIST),
        "tensors": _switch(map(_tensor_scale, BLOCK_LIST)),
    }
    functions = [text.functions for text in made]
    functions += [tensor_scale_text(block, block.name) for block in BLOCK_LIST if block.tensor]
    texts = [_HEAD, shared(formats, _parts(made)), records, *functions]
    return "\n".join([*texts, filled(part("module", ".c"), cases)])


def _tensor_scale(block: BlockFormat) -> str:
    return f"return {block.name}_tensor_scale(amax, rule)" if block.tensor else "return 0"


def _parts(made: Sequence[EngineText | BlockText]) -> set[str]:
    return {name for text in made for name in text.parts}


def _sizes(engines: Sequence[Engine]) -> dict[str, int]:
    terms = max(MOST, *(engine.step.products for engine in engines)) + 1
    return {"terms": terms, "records": max(map(_most_records, engines))}


def _most_records(engine: Engine) -> int:
    chunk = engine.chunk.length or MOST
    return -(-MOST // chunk) * (-(-chunk // engine.step.products) + 1)


def _window(engine: Engine) -> str:
    used = engine.window
    width = -1 if used.width is None or used.interleaved is not None else used.width
    zero = "NO_TOP" if used.zero_exponent is None else used.zero_exponent
    return f"    {{{width}, {CUTS[used.truncation]}, {used.addend.name}, {zero}}}, /* {engine.name} */"


def _switch(statements: Iterable[str]) -> str:
    *before, last = statements
    lines = [f"    case {number}: {statement};" for number, statement in enumerate(before)]
    return "\n".join([*lines, f"    default: {last};"])


def _sum(engine: Engine, operands: Sequence[Format]) -> str:
    call = f"{function_name(engine, operands)}_dot(a, b, 0, 0, count, c, &raised)"
    if not engine.step.exact:
        return f"return {call}"
    addend = identifier(engine.addend_format)
    return f"return all_at_once(count, fp9_{addend}_decode(c), {call})"


def digest(text: str) -> str:
    # Comments and white space do not change the digest.
    return hashlib.sha256(" ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split()).encode()).hexdigest()


def module(text: str) -> bytes:
    """Compile C source to a WebAssembly module. Raises FileNotFoundError if no compiler is installed."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "module.wasm")
        Path(folder, "module.c").write_text(text)
        words = [*_compiler(), *_OPTIONS, *_LINKED, "-o", str(made), str(Path(folder, "module.c"))]
        subprocess.run(words, check=True)
        # A custom section of the module holds the digest of the C source.
        return made.read_bytes() + _section("fp9", digest(text))


def _compiler() -> list[str]:
    if shutil.which("clang") and shutil.which("wasm-ld"):
        return ["clang", "--target=wasm32"]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc", "--target=wasm32-freestanding"]
    raise FileNotFoundError("no compiler for WebAssembly; install the packages clang and lld, or ziglang by pip")


def _section(name: str, content: str) -> bytes:
    body = bytes([len(name)]) + name.encode() + content.encode()
    return bytes([0, len(body)]) + body


def main() -> None:
    made = module(source())
    MODULE.write_bytes(made)
    print(f"{MODULE}: {len(made):,} bytes")


if __name__ == "__main__":
    main()
