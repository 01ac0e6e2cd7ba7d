//! Matrices without what lies above or below a diagonal (benchmarks/bars.py: tril).

use super::memory::Elements;

/// Writes zeros, which are zero bytes in every type, to all matrices of a row-major tensor but for the triangle
/// above (`upper`) or below the diagonal.
pub fn cut(out: &Elements, [rows, columns]: [usize; 2], diagonal: isize, upper: bool) {
    let size = out.dtype.size();
    let (count, width) = (out.geometry.numel() * size, columns * size);
    if count == 0 {
        return;
    }
    // SAFETY: the caller's: so many bytes belong to the tensor, which nobody else uses now.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(out.at::<u8>(0).wrapping_add(out.geometry.offset * size), count) };
    for (number, row) in bytes.chunks_exact_mut(width).enumerate() {
        let edge = ((number % rows) as isize).saturating_add(diagonal).saturating_add(isize::from(!upper));
        let edge = edge.clamp(0, columns as isize) as usize * size;
        if upper {
            row[..edge].fill(0);
        } else {
            row[edge..].fill(0);
        }
    }
}
