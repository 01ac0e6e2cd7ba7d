//! The innermost tiles of matrix products and the packing of their panels (benchmarks/bars.py: products).

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};
#[cfg(target_arch = "x86_64")]
use std::mem::transmute;

use super::dots::{Dots, dots};
use super::narrow::{Brain, Half, Kind, Source};
use super::processor::ask;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::simd::{Plain, Simd};
#[cfg(target_arch = "x86_64")]
use super::vector;

/// What is added to a product: an element for each of its own, with strides of 0 where rows or columns share one.
#[derive(Clone, Copy)]
pub struct Start {
    pub from: *const f32,
    pub row: usize,
    pub column: usize,
}

/// What becomes of the sums of a tile.
#[derive(Clone, Copy)]
pub struct Finish {
    /// Sums are multiplied by it first.
    pub scale: f32,
    /// Whether they are added to what stands in the result.
    pub add: bool,
    pub start: Option<Start>,
    /// Whether what is below zero then becomes zero.
    pub relu: bool,
}

impl Finish {
    /// The result is the product alone.
    pub const PLAIN: Self = Self { scale: 1.0, add: false, start: None, relu: false };
}

/// One tile: `out[i][j] = sum over p of a[i * a_row + p * a_step] * b[p * b_step + j]`, finished.
#[derive(Clone, Copy)]
pub struct Tile {
    pub depth: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_step: usize,
    /// Whole vectors are read of each of its rows.
    pub b: *const f32,
    pub b_step: usize,
    pub out: *mut f32,
    pub out_row: usize,
    pub out_column: usize,
    /// Columns that are written; at most the tile's.
    pub columns: usize,
    pub finish: Finish,
    pub ahead: Ahead,
    /// Whether elements of both sides are two of bfloat16.
    pub paired: bool,
    /// Whether packed columns, read once, come from beyond the first cache: those of depths to come are asked for.
    pub streamed: bool,
}

/// How the elements of both sides are multiplied.
trait Multiply<S: Simd> {
    /// `a * b + c`.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn add_product(a: S::V, b: S::V, c: S::V) -> S::V;
}

/// As float32.
struct Single;

impl<S: Simd> Multiply<S> for Single {
    #[inline(always)]
    unsafe fn add_product(a: S::V, b: S::V, c: S::V) -> S::V {
        // SAFETY: the caller's.
        unsafe { S::fma(a, b, c) }
    }
}

/// As two of bfloat16: both products are added.
#[cfg(target_arch = "x86_64")]
struct Paired;

#[cfg(target_arch = "x86_64")]
impl Multiply<Avx512> for Paired {
    #[inline(always)]
    unsafe fn add_product(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller's; vectors of the same bits.
        unsafe { _mm512_dpbf16_ps(c, transmute::<__m512, __m512bh>(a), transmute::<__m512, __m512bh>(b)) }
    }
}

/// What is needed soon, and fetched meanwhile: results of the next tile, with the strides of this one, and `count` elements
/// for each `STEPS` depths, where there are any.
#[derive(Clone, Copy)]
pub struct Ahead {
    pub out: *const f32,
    pub from: *const f32,
    pub step: usize,
    pub count: usize,
}

impl Ahead {
    /// A tile's own results.
    pub fn of(out: *const f32) -> Self {
        Self { out, from: std::ptr::null(), step: 0, count: 0 }
    }
}

/// The sums of the largest tile; smaller ones use its first rows and columns.
type Sums<S> = [[<S as Simd>::V; 2]; 14];

/// The body for each row `I` of `$height` and each vector `W` of `$width`, written out: sums stay in registers only where
/// their places are known before loops are unrolled.
macro_rules! each {
    ($height:ident, $width:ident, $body:block) => {
        each!($height, $width, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    ($height:ident, $width:ident, $body:block, $($row:literal)*) => {
        $(if $row < $height {
            const I: usize = $row;
            {
                const W: usize = 0;
                $body
            }
            if $width > 1 {
                const W: usize = 1;
                $body
            }
        })*
    };
}

/// Depths between fetches of what is needed soon, one line of memory.
pub const STEPS: usize = 16;
/// Depths that packing fetches ahead.
const AHEAD: usize = 64;

/// How the elements of a tile's left side lie.
mod lie {
    /// With any strides.
    pub const ANY: u8 = 0;
    /// Along the depth (`a_step` is 1): addresses move once in several depths.
    pub const ALONG: u8 = 1;
    /// Row beside row (`a_row` is 1), as packing puts them: one address serves all of them.
    pub const PACKED: u8 = 2;
    /// As packed, of a tile that is `streamed`.
    pub const STREAMED: u8 = 3;
}

/// Depths between two moves of the addresses of rows that lie along it.
const MOVE: usize = 4;
/// Depths that streamed columns are asked for ahead.
const SOON: usize = 8;

/// Where the next elements of the left side are, by every third row: several short chains of addresses instead of one long
/// one. One for each row would not fit into the registers, and what is read of them again costs processors that decode four
/// instructions at a time an eighth of their products (Cascade Lake, 256: 160 us, so 145).
struct Rows([*const f32; 5]);

impl Rows {
    #[inline(always)]
    fn new(t: &Tile) -> Self {
        Self([0, 3, 6, 9, 12].map(|row| t.a.wrapping_add(row * t.a_row)))
    }

    #[inline(always)]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(clippy::pointers_in_nomem_asm_block, reason = "the addresses are hidden, and nothing is read at them")
    )]
    fn step<const LIE: u8>(&mut self, by: usize) {
        if LIE >= lie::PACKED {
            self.0[0] = self.0[0].wrapping_add(by);
            return;
        }
        self.0 = self.0.map(|row| row.wrapping_add(by));
        #[cfg(target_arch = "x86_64")]
        if LIE == lie::ALONG {
            let [a, b, c, d, e] = &mut self.0;
            // SAFETY: no instruction: from here on the compiler does not know how these addresses came about, and keeps to them.
            unsafe {
                asm!(
                    "/* {} {} {} {} {} */",
                    inout(reg) * a,
                    inout(reg) * b,
                    inout(reg) * c,
                    inout(reg) * d,
                    inout(reg) * e,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
        }
    }
}

/// # Safety
/// As `Isa::run`, and the processor has the instructions.
#[inline(always)]
unsafe fn tile<S: Simd, M: Multiply<S>, const H: usize, const N: usize, const LIE: u8>(t: &Tile) {
    // SAFETY: the caller vouches for the memory of the tile and the instructions.
    unsafe {
        let mut sums: Sums<S> = [[S::splat(0.0); 2]; 14];
        let (mut a, mut b) = (Rows::new(t), t.b);
        let (mut left, mut line) = (t.depth, 0);
        let mut ahead = t.ahead.from;
        macro_rules! depth {
            ($at:literal) => {
                let lanes = [S::load(b), if N > 1 { S::load(b.add(S::LANES)) } else { S::splat(0.0) }];
                if LIE == lie::STREAMED {
                    ask(b.wrapping_add(SOON * N * S::LANES));
                    ask(b.wrapping_add((SOON * N + N - 1) * S::LANES));
                }
                each!(H, N, {
                    let at = if LIE >= lie::PACKED { a.0[0].add(I) } else { a.0[I / 3].add(I % 3 * t.a_row + $at) };
                    sums[I][W] = M::add_product(S::splat(*at), lanes[W], sums[I][W]);
                });
                b = b.wrapping_add(t.b_step);
            };
        }
        while left > 0 {
            let steps = left.min(STEPS);
            left -= steps;
            if line < H {
                for row in line..line + 2 {
                    S::prefetch(t.ahead.out.wrapping_add(row * t.out_row));
                    if N > 1 {
                        S::prefetch(t.ahead.out.wrapping_add(row * t.out_row + S::LANES));
                    }
                }
                line += 2;
            }
            for _ in 0..t.ahead.count {
                S::prefetch(ahead);
                ahead = ahead.wrapping_add(t.ahead.step);
            }
            let moves = if LIE == lie::ALONG { steps / MOVE } else { 0 };
            for _ in 0..moves {
                depth!(0);
                depth!(1);
                depth!(2);
                depth!(3);
                a.step::<LIE>(MOVE);
            }
            for _ in moves * MOVE..steps {
                depth!(0);
                a.step::<LIE>(if LIE == lie::ALONG { 1 } else { t.a_step });
            }
        }
        if t.finish.scale != 1.0 {
            let scale = S::splat(t.finish.scale);
            each!(H, N, {
                sums[I][W] = S::mul(sums[I][W], scale);
            });
        }
        let lined = t.out_column == 1 && t.finish.start.is_none_or(|start| start.column <= 1);
        if lined && t.columns == N * S::LANES {
            finish_lines::<S, H, N, true>(t, sums);
        } else if lined && S::LANES == 16 {
            finish_lines::<S, H, N, false>(t, sums);
        } else {
            let mut lines = [[0.0_f32; 32]; 14];
            each!(H, N, {
                S::store(lines[I].as_mut_ptr().add(W * S::LANES), sums[I][W]);
            });
            for (row, line) in lines.iter().enumerate().take(H) {
                finish_row(t, row, line);
            }
        }
    }
}

/// Finishes a tile whose results and summands lie side by side; unless it is `WHOLE`, the last columns are missing. Only
/// the widest vectors write a part of themselves as fast as all.
///
/// # Safety
/// As `tile`.
#[inline(always)]
unsafe fn finish_lines<S: Simd, const H: usize, const N: usize, const WHOLE: bool>(t: &Tile, mut sums: Sums<S>) {
    // SAFETY: the caller's; parts keep reads and writes inside.
    unsafe {
        let part = S::part(t.columns - (N - 1) * S::LANES);
        if let Some(start) = t.finish.start {
            each!(H, N, {
                let from = start.from.add(I * start.row + W * S::LANES * start.column);
                let x = match start.column {
                    1 if !WHOLE && W + 1 == N => S::load_part(from, part),
                    1 => S::load(from),
                    _ => S::splat(*from),
                };
                sums[I][W] = S::add(sums[I][W], x);
            });
        }
        if t.finish.add {
            each!(H, N, {
                let from = t.out.add(I * t.out_row + W * S::LANES);
                let x = if !WHOLE && W + 1 == N { S::load_part(from, part) } else { S::load(from) };
                sums[I][W] = S::add(sums[I][W], x);
            });
        }
        if t.finish.relu {
            let zero = S::splat(0.0);
            each!(H, N, {
                sums[I][W] = S::max(zero, sums[I][W]);
            });
        }
        each!(H, N, {
            let to = t.out.add(I * t.out_row + W * S::LANES);
            if !WHOLE && W + 1 == N { S::store_part(to, part, sums[I][W]) } else { S::store(to, sums[I][W]) }
        });
    }
}

/// # Safety
/// As `tile`.
#[inline(never)]
unsafe fn finish_row(t: &Tile, row: usize, line: &[f32; 32]) {
    for column in 0..t.columns.min(32) {
        let mut sum = line[column];
        // SAFETY: the caller's.
        unsafe {
            let out = t.out.add(row * t.out_row + column * t.out_column);
            if let Some(start) = t.finish.start {
                sum += *start.from.add(row * start.row + column * start.column);
            }
            if t.finish.add {
                sum += *out;
            }
            *out = if t.finish.relu && sum < 0.0 { 0.0 } else { sum };
        }
    }
}

/// A panel to be filled: `to[p * width + lane]`, for `lanes` lanes and `depth` values of `p`; lanes up to `width` are zeros.
#[derive(Clone, Copy)]
pub struct Panel {
    pub to: *mut f32,
    pub width: usize,
    pub lanes: usize,
    pub depth: usize,
}

/// Fills a panel from `from[lane * across + p * along]`.
///
/// # Safety
/// These elements exist, the panel has room, and the processor has the instructions.
#[inline(always)]
unsafe fn pack<S: Simd, T: Source>(panel: Panel, from: *const T, across: usize, along: usize) {
    let Panel { to, width, lanes, depth } = panel;
    // SAFETY: the caller's.
    unsafe {
        if across == 1 && lanes == width && width == 2 * S::LANES {
            for p in 0..depth {
                let (from, to) = (from.add(p * along), to.add(p * width));
                S::store(to, T::load::<S>(from, S::LANES));
                S::store(to.add(S::LANES), T::load::<S>(from.add(S::LANES), S::LANES));
            }
            return;
        }
        if across == 1 {
            for first in (0..width).step_by(S::LANES) {
                let part = lanes.saturating_sub(first).min(S::LANES);
                let whole = S::part((width - first).min(S::LANES));
                // What a whole store writes too much is written again by those that follow.
                let over = if width < S::LANES { (depth + 1).saturating_sub(S::LANES.div_ceil(width)) } else { 0 };
                for p in 0..over {
                    S::store(to.add(p * width), T::load::<S>(from.add(p * along), part));
                }
                for p in over..depth {
                    S::store_part(to.add(p * width + first), whole, T::load::<S>(from.add(p * along + first), part));
                }
            }
            return;
        }
        if lanes < width {
            for p in 0..depth {
                std::slice::from_raw_parts_mut(to.add(p * width + lanes), width - lanes).fill(0.0);
            }
        }
        if along == 1 {
            for first in (0..lanes).step_by(S::LANES) {
                let rows = (lanes - first).min(S::LANES);
                for p in (0..depth).step_by(S::LANES) {
                    let columns = (depth - p).min(S::LANES);
                    let source = (from.add(first * across + p), across);
                    if p + AHEAD < depth {
                        for row in 0..rows {
                            S::prefetch(source.0.wrapping_add(row * across + AHEAD).cast());
                        }
                    }
                    T::transpose::<S>(source, (to.add(p * width + first), width), rows, columns);
                }
            }
            return;
        }
        for p in 0..depth {
            for lane in 0..lanes {
                *to.add(p * width + lane) = from.add(lane * across + p * along).read_unaligned().wide();
            }
        }
    }
}

/// Fills a panel with pairs of bfloat16: `from[lane * across + p * along]` and the element `along / 2` behind it.
///
/// # Safety
/// As `pack`; where pairs lie side by side (`along` is 2), lanes begin at multiples of four bytes.
#[inline(always)]
unsafe fn pack_pairs<S: Simd>(panel: Panel, from: *const u16, across: usize, along: usize) {
    let Panel { to, width, lanes, depth } = panel;
    // SAFETY: the caller's; a pair has the bits of a float32, which nothing but moves them touches.
    unsafe {
        if along == 2 {
            return pack::<S, f32>(panel, from.cast(), across / 2, 1);
        }
        for p in 0..depth {
            let (first, second, to) = (from.add(p * along), from.add(p * along + along / 2), to.add(p * width));
            let pair = |at: usize| u32::from(*first.add(at)) | (u32::from(*second.add(at)) << 16);
            if across == 1 {
                (0..lanes).for_each(|lane| *to.add(lane).cast() = pair(lane)); // apart, for a loop of vectors
            } else {
                (0..lanes).for_each(|lane| *to.add(lane).cast() = pair(lane * across));
            }
            std::slice::from_raw_parts_mut(to.add(lanes), width - lanes).fill(0.0);
        }
    }
}

/// The tiles and the packing of one vector width.
pub struct Isa {
    pub lanes: usize,
    /// Rows of the tallest tile.
    pub height: usize,
    /// By vectors across less one, then by rows less one.
    tiles: [&'static [unsafe fn(&Tile)]; 2],
    /// As `pack`, of float32 and of narrower elements.
    pub pack: unsafe fn(Panel, *const f32, usize, usize),
    narrow: [unsafe fn(Panel, *const u8, usize, usize); 3],
    pairs: unsafe fn(Panel, *const u16, usize, usize),
    /// As `dots`, by kinds of elements and by rows less one.
    dots: [[unsafe fn(&Dots); 4]; 4],
}

impl Isa {
    /// Columns of the widest tile.
    pub fn width(&self) -> usize {
        2 * self.lanes
    }

    /// Fills a panel with elements of any kind.
    ///
    /// # Safety
    /// As `pack`.
    pub unsafe fn pack_any(&self, kind: Kind, panel: Panel, from: *const u8, across: usize, along: usize) {
        // SAFETY: the caller's.
        unsafe {
            match kind {
                Kind::Single => (self.pack)(panel, from.cast(), across, along),
                Kind::Brain => (self.narrow[0])(panel, from, across, along),
                Kind::Half => (self.narrow[1])(panel, from, across, along),
                Kind::Byte => (self.narrow[2])(panel, from, across, along),
                Kind::Pairs => (self.pairs)(panel, from.cast(), across, along),
            }
        }
    }

    /// Dot products of `rows` rows, at most four, with columns of this kind.
    ///
    /// # Safety
    /// As `dots`.
    pub unsafe fn dot(&self, kind: Kind, dots: &Dots, rows: usize) {
        // SAFETY: the caller's; `current` gives what the processor has.
        unsafe { self.dots[kind as usize][rows - 1](dots) }
    }

    /// The widest instructions that may be used here.
    pub fn current() -> &'static Self {
        #[cfg(target_arch = "x86_64")]
        {
            let width = vector::width();
            if width >= 512 {
                return &WIDE;
            }
            if width >= 256 {
                return &MIDDLE;
            }
        }
        &NARROW
    }

    /// Whether the processor multiplies pairs of bfloat16.
    pub fn has_pairs() -> bool {
        #[cfg(target_arch = "x86_64")]
        return vector::width() >= 512 && is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Computes one tile of `rows` rows.
    ///
    /// # Safety
    /// The memory of the tile exists and its result overlaps nothing that is read; `rows` and columns are not zero and fit.
    /// Tiles are `paired` only where `has_pairs`.
    pub unsafe fn run(&self, tile: &Tile, rows: usize) {
        let wide = usize::from(tile.columns > self.lanes);
        #[cfg(target_arch = "x86_64")]
        if tile.paired {
            // SAFETY: the caller's, who has asked `has_pairs`.
            return unsafe { PAIRED[wide][rows - 1](tile) };
        }
        #[cfg(target_arch = "x86_64")]
        if wide == 1 && self.lanes == 16 {
            let lie = match (tile.a_row, tile.a_step) {
                (1, _) if tile.streamed => lie::STREAMED,
                (1, _) => lie::PACKED,
                (_, 1) => lie::ALONG,
                _ => lie::ANY,
            };
            if let Some(tiles) = LYING.get(usize::from(lie).wrapping_sub(1)) {
                // SAFETY: the caller's; sixteen lanes are those of AVX-512.
                return unsafe { tiles[rows - 1](tile) };
            }
        }
        // SAFETY: the caller's; `current` gives what the processor has.
        unsafe { self.tiles[wide][rows - 1](tile) }
    }
}

macro_rules! isa {
    ($isa:ident, $simd:ty, $tile:ident, $pack:ident, $narrow:ident, $pairs:ident, $dots:ident, [$($height:literal)*] $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        unsafe fn $tile<const H: usize, const W: usize>(t: &Tile) {
            // SAFETY: the caller's.
            unsafe { tile::<$simd, Single, H, W, { lie::ANY }>(t) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn $pack(panel: Panel, from: *const f32, across: usize, along: usize) {
            // SAFETY: the caller's.
            unsafe { pack::<$simd, f32>(panel, from, across, along) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn $narrow<T: Source>(panel: Panel, from: *const u8, across: usize, along: usize) {
            // SAFETY: the caller's.
            unsafe { pack::<$simd, T>(panel, from.cast(), across, along) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn $pairs(panel: Panel, from: *const u16, across: usize, along: usize) {
            // SAFETY: the caller's.
            unsafe { pack_pairs::<$simd>(panel, from, across, along) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn $dots<T: Source, const M: usize>(d: &Dots) {
            // SAFETY: the caller's.
            unsafe { dots::<$simd, T, M>(d) }
        }

        static $isa: Isa = Isa {
            lanes: <$simd>::LANES,
            height: <$simd>::HEIGHT,
            tiles: [&[$($tile::<$height, 1>),*], &[$($tile::<$height, 2>),*]],
            pack: $pack,
            narrow: [$narrow::<Brain>, $narrow::<Half>, $narrow::<i8>],
            pairs: $pairs,
            dots: [
                [$dots::<f32, 1>, $dots::<f32, 2>, $dots::<f32, 3>, $dots::<f32, 4>],
                [$dots::<Brain, 1>, $dots::<Brain, 2>, $dots::<Brain, 3>, $dots::<Brain, 4>],
                [$dots::<Half, 1>, $dots::<Half, 2>, $dots::<Half, 3>, $dots::<Half, 4>],
                [$dots::<i8, 1>, $dots::<i8, 2>, $dots::<i8, 3>, $dots::<i8, 4>],
            ],
        };
    };
}

#[cfg(target_arch = "x86_64")]
isa!(WIDE, Avx512, tile_512, pack_512, narrow_512, pairs_512, dots_512, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma");
#[cfg(target_arch = "x86_64")]
isa!(MIDDLE, Avx2, tile_256, pack_256, narrow_256, pairs_256, dots_256, [1 2 3 4 5 6], "avx2,fma");
isa!(NARROW, Plain, tile_128, pack_128, narrow_128, pairs_128, dots_128, [1 2 3 4 5 6 7 8]);

#[cfg(target_arch = "x86_64")]
macro_rules! paired {
    ($($height:literal)*) => { [&[$(tile_pairs::<$height, 1>),*], &[$(tile_pairs::<$height, 2>),*]] };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn tile_pairs<const H: usize, const W: usize>(t: &Tile) {
    // SAFETY: the caller's.
    unsafe { tile::<Avx512, Paired, H, W, { lie::ANY }>(t) }
}

/// As `Isa::tiles` of the widest vectors, of pairs.
#[cfg(target_arch = "x86_64")]
static PAIRED: [&[unsafe fn(&Tile)]; 2] = paired!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);

#[cfg(target_arch = "x86_64")]
macro_rules! lying {
    ($lie:ident, $($height:literal)*) => { [$(tile_lying::<$height, { lie::$lie }>),*] };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn tile_lying<const H: usize, const LIE: u8>(t: &Tile) {
    // SAFETY: the caller's.
    unsafe { tile::<Avx512, Single, H, 2, LIE>(t) }
}

/// As `Isa::tiles` of the widest vectors and tiles, by how rows lie less one.
#[cfg(target_arch = "x86_64")]
static LYING: [[unsafe fn(&Tile); 14]; 3] = [
    lying!(ALONG, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
    lying!(PACKED, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
    lying!(STREAMED, 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
];
