"""torch's own bank of cases against the list of gaps: an unlisted failure fails, and a listed one that passes too."""

import pytest

from opinfo import bank, catalogue, gaps, modules, optimizers

KNOWN = gaps.load()
QUICK = 4


def check(name: str, limit: int | None) -> None:
    outcome = catalogue.run(name, limit)
    gap = KNOWN.get(name, gaps.Gap())
    complaints = []
    if outcome.samples == 0 and not (name in KNOWN and gap.of == 0):
        complaints.append("torch runs no sample of it: list it with of = 0")
    for what, ran, failed, known, either in (
        ("sample", outcome.ran, outcome.failed, gap.failed, gap.rounded),
        ("error input", outcome.errors_ran, outcome.errors_failed, gap.errors, set()),
    ):
        new = sorted(set(failed) - known - either)
        complaints += [f"{what} {index} fails: {failed[index]}" for index in new]
        fixed = sorted((known & set(ran)) - set(failed))
        complaints += [f"{what} {index} is listed in gaps.toml but passes: run.py --shrink" for index in fixed]
    assert not complaints, f"{name}: " + "\n".join(complaints[:5])


@pytest.mark.parametrize("name", catalogue.names())
def test_a_few_samples_of_each_entry(name: str) -> None:
    check(name, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
def test_every_sample_of_each_entry(name: str) -> None:
    check(name, None)


def test_every_listed_gap_is_an_entry() -> None:
    assert set(KNOWN) <= set(catalogue.names())
    assert all(gap.why for gap in KNOWN.values())


@pytest.mark.parametrize(
    ("names", "least"), [(bank.entries(), 630), (modules.entries(), 107), (optimizers.entries(), 14)]
)
def test_enough_entries_pass(names: dict[str, object], least: int) -> None:
    assert sum(name not in KNOWN or KNOWN[name].counts for name in names) >= least
