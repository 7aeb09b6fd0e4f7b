"""Commands `prove` and `mutate`, for proofs and mutation testing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import SEED, Command, Seconds, extra, keeps, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT, Words
from fp9.system.cache import recomputing
from fp9_sim.cli.options import records_option
from fp9_sim.cli.trace import trace_command

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9_sim.proofs import ProofRecord

_KINDS = ("netlist", "held-out", "mapped")
_PATH = click.Path(path_type=Path)
_PROVEN = "verdicts are cached; run the same command again to continue"
_KEPT = "with --record, finished units have records; run the same command again for the others"


@click.command(cls=Command, page="explanation/proofs.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option("--verilog", "path", type=_PATH, help="Verilog of UNIT to prove; default: generated.")
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    help="Seconds for one case, or one RTL source; default: 120 or 900.",
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Solvers at once.")
@click.option("--force", is_flag=True, help="Prove again, without cached verdicts.")
@click.option(
    "--source", "of_text", is_flag=True, help="Prove instead that the RTL source is equivalent to the circuit."
)
@click.option("--record", is_flag=True, help="Write the record of the proof.")
@records_option
@settings_option
def prove(
    names: tuple[str, ...],
    path: Path | None,
    timeout: float | None,
    jobs: int,
    force: bool,
    of_text: bool,
    record: bool,
    folder: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Prove UNIT... equivalent to its specification for all inputs.

    The solvers are Yosys' SAT solver, CaDiCaL for sums, and ABC if ABC is installed. Each case of a proof is proven,
    refuted with a counterexample, or undecided at the time limit. Verdicts are cached, so a stopped command continues
    when you run the same command again. With a longer --timeout, the command tries undecided cases again. The exit code
    is 1 unless all cases are proven.

    
      fp9 prove cast_fp32_ocp_rne decoder_all
      fp9 prove cast_fp32_ocp_rne --force
      fp9 prove fma_fp32_e5m2 --timeout 60
      fp9 prove fma_fp32_ocp --source
    """
    with extra("sim"):
        from fp9_sim import proofs  # slow to load
    text = path.read_text() if path else None
    keeps(_KEPT if of_text else _PROVEN)
    if of_text:
        units = [load_unit(name, settings) for name in names]
        limit = timeout or proofs.TEXT_SECONDS
        _prove_texts(units, text, limit, as_json)
        return
    records = []
    with recomputing(force), progress_bar() as progress:
        for name in names:
            unit = load_unit(name, settings)
            records.append(
                proofs.prove(unit, text, timeout=timeout or proofs.CASE_SECONDS, jobs=jobs, progress=progress)
            )
            if record:
                _write(unit, records[-1], folder)
    rows = [
        [r.unit, claim.name, claim.state, _count(claim.cases), f"{claim.seconds:.1f}"]
        for r in records
        for claim in r.claims
    ]
    columns = ["unit", "claim", "state", "cases proven", "seconds"]
    show(
        [r.to_dict() for r in records],
        as_json,
        table("Proofs", columns, rows, numbers=columns[3:]),
        *_notes(records, path, settings),
    )
    if not all(r.proven for r in records):
        raise SystemExit(1)


def _write(unit: Unit, proof: ProofRecord, folder: Path | None) -> None:
    from fp9_sim import evidence, records  # slow to load

    place = folder or records.home()
    evidence.keep(records.PROOF, proof, place)
    if proof.circuit_sha256:
        records.certify(unit, place)


def _prove_texts(units: list[Unit], text: str | None, timeout: float, as_json: bool) -> None:
    from fp9_sim import proofs  # slow to load

    records = []
    with progress_bar() as progress:
        for number, unit in enumerate(units):
            progress(unit.name, number, len(units))
            records.append(proofs.prove_text(unit, text, timeout))
    columns = ["unit", "RTL source and circuit are equivalent", "seconds", "control"]
    rows = [[r.unit, r.state, f"{r.seconds:.1f}", r.control] for r in records]
    show([r.to_dict() for r in records], as_json, table("RTL source", columns, rows, numbers=columns[2:3]))
    if not all(r.proven for r in records):
        raise SystemExit(1)


def _count(cases: tuple[Any, ...]) -> str:
    return f"{sum(case.state == 'proven' for case in cases)} of {len(cases)}"


def _notes(records: list[ProofRecord], path: Path | None, settings: tuple[str, ...]) -> list[str]:
    from fp9_sim.proofs import counterexample_text  # slow to load

    lines = []
    for claim in {claim.proves: claim for record in records for claim in record.claims}.values():
        lines.append(f"{claim.name}: {claim.proves}")
        lines += [f"  assumed: {assumption}" for assumption in claim.assumes]
    for record in records:
        lines += record.complaints
        for claim in record.claims:
            for case in claim.cases:
                if case.counterexample:
                    lines.append(f"{record.unit}, {case.name}: refuted by {counterexample_text(case.counterexample)}")
                    lines += _command(record.unit, case.counterexample, path, settings)
    return lines


def _command(name: str, found: dict[str, Any], path: Path | None, settings: tuple[str, ...]) -> list[str]:
    # A counterexample of a handshake proof has no output values.
    if not found["outputs"]:
        return []
    codes = {port: text.split()[0] for port, text in found["inputs"].items()}
    return [f"to see its fields: {trace_command(name, codes, [path] if path else [], settings)} --waves waves.vcd"]


@click.command(cls=Command, page="explanation/verification-strategy.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option(
    "--kind",
    "named",
    type=Words(_KINDS),
    default="netlist",
    show_default=True,
    help=f"Where the errors are: {' or '.join(_KINDS)}.",
)
@click.option(
    "--count",
    "drawn",
    type=click.IntRange(2, 1_000_000),
    default=240,
    show_default=True,
    help="Mutants of each UNIT for each seed.",
)
@click.option("--seed", "seeds", type=SEED, multiple=True, help="Seeds of the mutants; default: those of the records.")
@click.option(
    "--timeout",
    type=Seconds(),
    metavar="SECONDS",
    help="Seconds for comparing one mutant with the circuit; default: 60.",
)
@click.option("--record", is_flag=True, help="Write the record; manifests of vectors state its score.")
@click.option(
    "--force",
    is_flag=True,
    help="Decide again about mutants that are recorded as equivalent.",
)
@records_option
@settings_option
def mutate(
    names: tuple[str, ...],
    named: str,
    drawn: int,
    seeds: tuple[int, ...],
    timeout: float | None,
    record: bool,
    force: bool,
    folder: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the mutation score of UNIT's vector suites.

    A mutant is the netlist with one deliberate error in an operator or in a gate. A suite kills a mutant if an output
    differs from the golden vectors. The mutation score leaves out mutants that are proven equivalent. With --kind
    held-out, the mutants come from a random seed that was chosen after the suites were finished. With --kind mapped,
    the errors are stuck-at faults and exchanged nets of mapped cells. The exit code is 1 unless the corner suite kills
    all remaining mutants and the smoke suite kills at least 95 %.

    
      fp9 mutate cast_fp32
      fp9 mutate dot8_fp32_rvbna --timeout 600
      fp9 mutate cast_fp32 --force
      fp9 mutate cast_fp32 --kind held-out
      fp9 mutate cast_fp32 --kind mapped
    """
    with extra("sim"):
        from fp9_sim import mutants  # slow to load
        from fp9_sim.records import home
    from fp9.vectors.mutation_scores import percent  # slow to load

    if named not in mutants.KINDS:
        raise ValueError(f"kind {named!r} given; give {' or '.join(mutants.KINDS)}")
    kind = mutants.KINDS[named]
    keeps(_KEPT)
    scored = []
    with progress_bar() as progress:
        for name in names:
            unit = load_unit(name, settings)
            limit, records = timeout or mutants.EQUIVALENCE_SECONDS, folder or home()
            known = frozenset() if force else mutants.proven(unit, kind, records)
            scored.append(
                mutants.score(unit, kind=kind, drawn=drawn, seeds=seeds, timeout=limit, proven=known, progress=progress)
            )
            if record:
                mutants.keep(scored[-1], records)
    rows = [
        [g.unit, s.suite, s.operations, g.drawn, len(g.equivalent), s.killed, len(s.survivors), percent(s.rate)]
        for g in scored
        for s in g.suites
    ]
    columns = ["unit", "suite", "operations", "mutants", "equivalent", "killed", "survive", "score"]
    notes = [
        f"{g.unit}: {mutant.level} {mutant.change} survives every suite; inputs that kill it: {inputs}"
        for g in scored
        for mutant, inputs in g.survived
    ]
    show([g.to_dict() for g in scored], as_json, table("Mutants", columns, rows, numbers=columns[2:]), *notes)
    if not all(g.sufficient for g in scored):
        raise SystemExit(1)
