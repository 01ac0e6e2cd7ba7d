//! Elements narrower than float32 as factors of products, widened where they are read: nothing is copied as float32 before
//! (benchmarks/bars.py: products of half types).

use super::simd::Simd;

/// What the elements of a factor are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Single,
    Brain,
    Half,
    Byte,
    /// Two of `Brain`, neighbours along the depth, that are multiplied at once: depths count pairs, steps the elements.
    Pairs,
}

impl Kind {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Brain | Self::Half | Self::Pairs => 2,
            Self::Byte => 1,
        }
    }
}

/// Elements of the widest vector.
const MOST: usize = 16;

/// An element of a factor; its value is kept exactly.
pub trait Source: Copy {
    fn wide(self) -> f32;

    /// The first `count` elements from there on, then zeros; at most a vector.
    ///
    /// # Safety
    /// These elements exist, and the processor has the instructions.
    #[inline(always)]
    unsafe fn load<S: Simd>(from: *const Self, count: usize) -> S::V {
        let mut lanes = [0.0_f32; MOST];
        // SAFETY: the caller's; a vector has at most so many lanes.
        unsafe {
            if count == S::LANES {
                for lane in 0..S::LANES {
                    lanes[lane] = from.add(lane).read_unaligned().wide();
                }
            } else {
                for lane in 0..count {
                    lanes[lane] = from.add(lane).read_unaligned().wide();
                }
            }
            S::load(lanes.as_ptr())
        }
    }

    /// As `Simd::transpose`.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn transpose<S: Simd>(from: (*const Self, usize), to: (*mut f32, usize), rows: usize, columns: usize) {
        let mut block = [0.0_f32; MOST * MOST];
        // SAFETY: the caller's; the block has room for all rows.
        unsafe {
            for row in 0..rows {
                S::store(block.as_mut_ptr().add(row * S::LANES), Self::load::<S>(from.0.add(row * from.1), columns));
            }
            S::transpose((block.as_ptr(), S::LANES), to, rows, columns);
        }
    }
}

impl Source for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(from: *const f32, count: usize) -> S::V {
        // SAFETY: the caller's.
        unsafe { if count == S::LANES { S::load(from) } else { S::load_part(from, S::part(count)) } }
    }

    #[inline(always)]
    unsafe fn transpose<S: Simd>(from: (*const f32, usize), to: (*mut f32, usize), rows: usize, columns: usize) {
        // SAFETY: the caller's.
        unsafe { S::transpose(from, to, rows, columns) }
    }
}

/// The bits of a bfloat16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Brain(u16);

impl Source for Brain {
    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

/// The bits of a float16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Half(u16);

impl Source for Half {
    /// Without branches, so that loops of it vectorise, and without subnormal float32, which a thread may take for zeros.
    #[inline(always)]
    fn wide(self) -> f32 {
        let bits = u32::from(self.0);
        let (sign, rest) = ((bits & 0x8000) << 16, (bits & 0x7FFF) << 13);
        let (least, most) = (1 << 23, 31 << 23);
        let normal = rest + (112 << 23);
        let subnormal = (f32::from_bits(rest + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
        let special = rest | 0x7F80_0000;
        let magnitude = if rest < least { subnormal } else { normal };
        f32::from_bits(sign | if rest >= most { special } else { magnitude })
    }
}

impl Source for i8 {
    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            let (brain, half) = (half::bf16::from_bits(bits).to_f32(), half::f16::from_bits(bits).to_f32());
            assert!(Brain(bits).wide().to_bits() == brain.to_bits() || brain.is_nan() && Brain(bits).wide().is_nan());
            assert!(Half(bits).wide().to_bits() == half.to_bits() || half.is_nan() && Half(bits).wide().is_nan());
        }
    }
}
