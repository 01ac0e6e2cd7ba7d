//! Convolutions of small images by windows of one element: all images side by side as one product of matrices
//! (benchmarks/bars.py: convolutions 1x1 at 7 b8).
//!
//! Seven times seven results fill three vectors of sixteen and leave one over; those of eight images fill all but half of one.

use super::convolve::{LayOut, Pass, TASK};
use super::iterate::spread_over;
use super::micro::{Finish, Start};
use super::product::{self, Matrix, Out, Product};
use super::scratch::{Room, Shared, with_scratch};
use super::widest;

/// Computes the rows of all units of a pass whose windows have one element and whose units are samples.
pub fn run(pass: &Pass<'_>, x: &[f32], units: usize, out: Shared) {
    let (each, columns) = (pass.places(), units * pass.places());
    let (mut inputs, mut sums) = (Room::new(pass.sources * columns), Room::new(pass.rows * columns));
    let (inputs, sums) = (inputs.shared(), sums.shared());
    let least = (TASK / 8 / columns).max(1);
    spread_over(pass.sources, least, &|source| {
        for unit in 0..units {
            // SAFETY: each image has a place of its own.
            let to = unsafe { inputs.slice(source * columns + unit * each, each) };
            lay_out(pass, x, unit * pass.sources + source, to);
        }
    });
    let product = Product {
        rows: pass.rows,
        columns,
        depth: pass.sources,
        a: Matrix::new(pass.weight.as_ptr().wrapping_add(pass.tap()), pass.row_step, pass.channel_step),
        b: Matrix::new(inputs.at(0), 1, columns),
        out: Out { to: sums.at(0), row: columns, column: 1 },
        finish: Finish {
            start: pass.bias.map(|bias| Start { from: bias.as_ptr(), row: 1, column: 0 }),
            ..Finish::PLAIN
        },
    };
    // SAFETY: the weight has an element for each row and source, both rooms one for each column.
    unsafe { product::multiply_each(1, |_| product) };
    spread_over(pass.rows, least, &|row| {
        for unit in 0..units {
            // SAFETY: the sums are written, and each image of results has a place of its own.
            unsafe {
                let from = sums.slice(row * columns + unit * each, each);
                put(pass, from, out.at((unit * pass.rows + row) * pass.plane()));
            }
        }
    });
}

/// What the results of an image read, in their order.
fn lay_out(pass: &Pass<'_>, x: &[f32], index: usize, to: &mut [f32]) {
    let image = pass.sheet.source.iter().product::<usize>();
    let from = &x[index * image..][..image];
    if pass.sheet.is_source() {
        return to.copy_from_slice(from);
    }
    with_scratch(pass.sheet.channel(), |sheet| {
        widest::run(LayOut::all(&pass.sheet, from, sheet));
        let width = pass.sheet.outputs[2];
        let tap = pass.sheet.taps[0].1;
        for (line, to) in to.chunks_exact_mut(width).enumerate() {
            to.copy_from_slice(&sheet[tap + pass.sheet.column_of(line * width)..][..width]);
        }
    });
}

/// Puts the results of an image where they belong.
///
/// # Safety
/// The image of results is there.
unsafe fn put(pass: &Pass<'_>, from: &[f32], to: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        if pass.is_dense() {
            return std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
        }
        for (place, &value) in from.iter().enumerate() {
            *to.add(pass.target_of(place)) = value;
        }
    }
}
