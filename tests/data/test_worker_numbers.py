"""Workers of a DataLoader draw the random numbers of torch's workers, and none of the program's."""

import pyburn
import pytest
import torch


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
