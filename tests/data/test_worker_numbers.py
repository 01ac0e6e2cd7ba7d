"""Workers of a DataLoader draw the random numbers of torch's workers, and none of the program's."""

import random
import threading

import numpy as np
import pyburn
import pytest
import torch
from pyburn.data import _draws


def drawing(library):
    """A dataset whose items are drawn when they are read."""

    class Drawn(library.utils.data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, index):
            return index, library.rand(2), library.randint(0, 100, ())

    return Drawn()


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_items_draw_what_torchs_workers_draw(workers):
    def run(library):
        library.manual_seed(3)
        batches = list(library.utils.data.DataLoader(drawing(library), 4, shuffle=True, num_workers=workers))
        return [[part.tolist() for part in batch] for batch in batches], library.rand(3).tolist()

    assert run(pyburn) == run(torch)


def test_a_seed_set_in_a_worker_is_the_workers_alone():
    pyburn.manual_seed(1)
    expected = pyburn.rand(2).tolist()
    pyburn.manual_seed(1)
    loader = pyburn.utils.data.DataLoader(
        drawing(pyburn),
        4,
        num_workers=2,
        generator=pyburn.Generator(),
        worker_init_fn=lambda number: pyburn.manual_seed(7),
    )
    first, second = list(loader)[:2]
    assert first[1].tolist() == second[1].tolist()
    assert pyburn.rand(2).tolist() == expected


def drawing_elsewhere(library):
    """A dataset that draws from Python's and numpy's generators too."""

    class Drawn(library.utils.data.Dataset):
        def __len__(self):
            return 23

        def __getitem__(self, index):
            return index, random.random(), float(np.random.rand()), random.choice(range(1000)), library.rand(())

    return Drawn()


def seed_by_hand(worker):
    np.random.seed(100 + worker)
    random.seed(worker)


@pytest.mark.parametrize("begin", [None, seed_by_hand])
@pytest.mark.parametrize("persistent", [False, True])
def test_pythons_and_numpys_numbers_are_those_of_torchs_workers(persistent, begin):
    def run(library):
        library.manual_seed(3)
        random.seed(4)
        np.random.seed(5)
        loader = library.utils.data.DataLoader(
            drawing_elsewhere(library), 4, num_workers=2, persistent_workers=persistent, worker_init_fn=begin
        )
        seen = [[part.tolist() for part in batch] for _ in range(2) for batch in loader]
        return seen, random.random(), float(np.random.rand())

    assert run(pyburn) == run(torch)


def test_a_worker_that_begins_when_another_has_been_alone_draws_nothing_of_the_program(monkeypatch):
    asked = threading.Event()

    class Asked(threading.Condition):
        def __enter__(self):
            asked.set()
            return super().__enter__()

    alone = Asked()
    monkeypatch.setattr(_draws, "_ALONE", alone)
    known = _draws.Draws()
    known.begin(2)
    before = random.getstate()
    late = threading.Thread(target=_draws.Stream(known, 7, 1).fetch, args=(lambda task: random.random(), None))
    with alone:
        asked.clear()
        late.start()
        assert asked.wait(20)
        known.used = True
        known.delivered()
    late.join(20)
    assert random.getstate() == before


def test_a_dataset_that_draws_nothing_is_read_by_all_workers_at_once():
    together = threading.Barrier(2, timeout=20)

    class Meeting(pyburn.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            together.wait()
            return index

    loader = pyburn.utils.data.DataLoader(Meeting(), 1, num_workers=2)
    assert [int(batch) for _ in range(2) for batch in loader] == [0, 1, 2, 3] * 2


def test_a_loader_inside_a_worker_does_not_wait_for_itself():
    class Inner(pyburn.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index + 0 * random.random()

    class Outer(Inner):
        def __getitem__(self, index):
            random.random()
            return sum(float(batch.sum()) for batch in pyburn.utils.data.DataLoader(Inner(), 2, num_workers=2))

    loader = pyburn.utils.data.DataLoader(Outer(), 1, num_workers=2, timeout=20)
    assert [float(batch) for batch in loader] == [6.0] * 4


def test_an_error_of_a_dataset_that_draws_is_told():
    class Broken(pyburn.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            random.random()
            raise KeyError("no such file")

    with pytest.raises(KeyError, match="no such file"):
        list(pyburn.utils.data.DataLoader(Broken(), 2, num_workers=2, timeout=20))
