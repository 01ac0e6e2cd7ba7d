//! The coordinates of the elements that are not zero (benchmarks/cases.py: large_nonzero).

use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Elements of one part, which are counted and written apart.
const PART: usize = PARALLEL_ABOVE / 4;
/// Truths whose number fits a byte.
const BYTE: usize = 128;

struct Count<'a> {
    flags: &'a [u8],
    found: &'a mut usize,
}

impl Task for Count<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let count = |flags: &[u8]| usize::from(flags.iter().fold(0u8, |sum, &flag| sum + u8::from(flag != 0)));
        *self.found = self.flags.chunks(BYTE).map(count).sum();
    }
}

/// How many bytes of each part are true.
pub fn counts(flags: &[u8]) -> Vec<usize> {
    gathered(flags.len().div_ceil(PART), 4, 0, |part| {
        let mut found = 0;
        dispatch(Count { flags: &flags[part * PART..flags.len().min((part + 1) * PART)], found: &mut found });
        found
    })
}

/// Writes the coordinates of the true bytes of a row-major tensor of one or more dimensions, those of each dimension beside
/// each other.
///
/// # Safety
/// `counts` are those of the flags, of which there are as many as `shape` says, and there is room for as many numbers in
/// each dimension.
pub unsafe fn coordinates(flags: &[u8], counts: &[usize], shape: &[usize], to: Shared<i64>) {
    let Some((&width, outer)) = shape.split_last() else { return };
    let starts: Vec<usize> = counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let total: usize = counts.iter().sum();
    let one = |part: usize| {
        let (mut found, limit) = (starts[part], starts[part] + counts[part]);
        let (mut at, end) = (part * PART, flags.len().min((part + 1) * PART));
        while at < end && found < limit {
            let (mut row, first) = (at / width, found);
            let stop = end.min((row + 1) * width);
            for (column, &flag) in (at - row * width..).zip(&flags[at..stop]) {
                if found == limit {
                    break;
                }
                // Written without asking, and kept where the next does not come to the same slot.
                // SAFETY: the caller's; `found` is below the end of this part's slots.
                unsafe { to.at(outer.len() * total + found).write(column as i64) };
                found += usize::from(flag != 0);
            }
            for (dim, &size) in outer.iter().enumerate().rev() {
                // SAFETY: as above.
                unsafe { to.slice(dim * total + first, found - first) }.fill((row % size) as i64);
                row /= size;
            }
            at = stop;
        }
    };
    if flags.len() < PARALLEL_ABOVE {
        (0..counts.len()).for_each(one);
    } else {
        spread_over(counts.len(), 1, &one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_count_from_the_front() {
        let flags = [0, 1, 0, 0, 0, 1];
        let (found, mut out) = (counts(&flags), [0; 4]);
        assert_eq!(found, [2]);
        // SAFETY: two are true, of a matrix.
        unsafe { coordinates(&flags, &found, &[2, 3], Shared::of(&mut out)) };
        assert_eq!(out, [0, 1, 1, 2]);
    }
}
