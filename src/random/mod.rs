//! Random numbers: torch's CPU generator, so that a seed gives the numbers it gives in torch.
//!
//! [`Generator`] is a Mersenne Twister (mt19937) with the sampling algorithms of torch on top of
//! it; it knows neither tensors nor Python. The fills write a contiguous buffer in its order.
//! Arguments are checked by the callers, which know the name of the op for the message.

mod element;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::kernels::box_muller::{self, BLOCK};
use crate::kernels::iterate::{PARALLEL_ABOVE, gathered, spread_parts};
use crate::kernels::vector::{Task, dispatch};
pub use element::{Compute, Element, Real};

const WORDS: usize = 624;
const MIDDLE: usize = 397;
/// The seed of a generator made without one, as in torch.
pub const DEFAULT_SEED: u64 = 67_280_421_310_721;
/// Length of [`Generator::get_state`]: torch's own layout, with a word of 64 bits per state word.
pub const STATE_BYTES: usize = 24 + 8 * WORDS + 40;
/// From this many elements on the remainder of 32 bits is too uneven, and 64 are drawn.
const WIDE_RANGE: u64 = 1 << 28;
/// Blocks of normal numbers, or numbers, that one thread takes at a time.
const PART: usize = 256;
/// Weights that are drawn for at once.
const RACES: usize = 1 << 20;
/// Samples of a row up to which they are kept in order while they are found.
const FEW: usize = 32;
/// Coins that are tossed at once.
const COINS: usize = 512;
/// From this many elements on `randperm` draws 64 bits a step.
const WIDE_PERMUTATION: usize = (u32::MAX / 20) as usize;

/// A stream of random numbers; the same seed gives torch's numbers on its CPU.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    state: [u32; WORDS],
    /// The next word to hand out; 0 only before the first draw after seeding.
    next: usize,
    /// The second value of the last scalar Box-Muller pair.
    spare_normal: Option<f64>,
    /// torch keeps a single-precision spare in its state too; it only passes through here.
    spare_normal_f32: Option<f32>,
}

impl Default for Generator {
    fn default() -> Self {
        Self::new(DEFAULT_SEED)
    }
}

impl Generator {
    /// A generator at the start of the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut generator = Self { seed, state: [0; WORDS], next: 0, spare_normal: None, spare_normal_f32: None };
        generator.manual_seed(seed);
        generator
    }

    /// Restarts the stream from `seed`; as in torch its upper 32 bits are kept but not used.
    pub fn manual_seed(&mut self, seed: u64) {
        self.seed = seed;
        let mut word = seed as u32;
        for (index, slot) in self.state.iter_mut().enumerate() {
            if index > 0 {
                word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(index as u32);
            }
            *slot = word;
        }
        self.next = 0;
        self.spare_normal = None;
        self.spare_normal_f32 = None;
    }

    /// Restarts the stream from a seed nobody chose, which it returns.
    pub fn seed(&mut self) -> u64 {
        // The standard library keys every RandomState from the system's entropy.
        let seed = RandomState::new().build_hasher().finish() & ((1 << 53) - 1);
        self.manual_seed(seed);
        seed
    }

    /// The seed the stream was started from.
    pub fn initial_seed(&self) -> u64 {
        self.seed
    }

    /// The state in torch's layout, [`STATE_BYTES`] long: torch can load it, and the reverse.
    pub fn get_state(&self) -> Vec<u8> {
        let left = if self.next == 0 { 1 } else { WORDS + 1 - self.next };
        let mut bytes = Vec::with_capacity(STATE_BYTES);
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend((left as i32).to_le_bytes());
        bytes.extend(1i32.to_le_bytes());
        bytes.extend((self.next as u64).to_le_bytes());
        for word in self.state {
            bytes.extend(u64::from(word).to_le_bytes());
        }
        bytes.extend([0; 8]);
        bytes.extend(self.spare_normal.unwrap_or(0.0).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(u64::from(self.spare_normal.is_some()).to_le_bytes());
        bytes.extend(self.spare_normal_f32.unwrap_or(0.0).to_le_bytes());
        bytes.extend(u32::from(self.spare_normal_f32.is_some()).to_le_bytes());
        bytes
    }

    /// Continues from a state that [`Generator::get_state`] or torch gave.
    ///
    /// # Errors
    /// Says what is wrong when the bytes are not such a state; the generator is then unchanged.
    pub fn set_state(&mut self, bytes: &[u8]) -> Result<(), String> {
        if bytes.len() != STATE_BYTES {
            return Err(format!("expected an RNG state of {STATE_BYTES} bytes but got {}", bytes.len()));
        }
        let mut reader = Reader(bytes);
        let seed = u64::from_le_bytes(reader.take()?);
        let left = i64::from(i32::from_le_bytes(reader.take()?));
        let seeded = i32::from_le_bytes(reader.take()?);
        let next = u64::from_le_bytes(reader.take()?);
        let total = left.checked_add_unsigned(next).unwrap_or(-1);
        let fresh = next == 0 && left == 1;
        if seeded == 0 || next > WORDS as u64 || !(fresh || next > 0 && total == WORDS as i64 + 1) {
            return Err("invalid mt19937 state".to_owned());
        }
        let mut state = [0; WORDS];
        for word in &mut state {
            *word = u64::from_le_bytes(reader.take()?) as u32;
        }
        let _unused: [u8; 8] = reader.take()?;
        let spare = f64::from_le_bytes(reader.take()?);
        let _unused: [u8; 8] = reader.take()?;
        let [has_spare, _] = [i32::from_le_bytes(reader.take()?), i32::from_le_bytes(reader.take()?)];
        let spare_f32 = f32::from_le_bytes(reader.take()?);
        let [has_spare_f32, ..]: [u8; 4] = reader.take()?;
        *self = Self {
            seed,
            state,
            next: next as usize,
            spare_normal: (has_spare != 0).then_some(spare),
            spare_normal_f32: (has_spare_f32 != 0).then_some(spare_f32),
        };
        Ok(())
    }

    /// The next 32 random bits.
    #[inline]
    pub fn random(&mut self) -> u32 {
        if self.next == 0 || self.next >= WORDS {
            self.twist();
        }
        let word = self.state[self.next];
        self.next += 1;
        tempered(word)
    }

    /// The next words, as `random` gives them.
    fn fill_words(&mut self, mut out: &mut [u32]) {
        while !out.is_empty() {
            if self.next == 0 || self.next >= WORDS {
                self.twist();
            }
            let (now, later) = out.split_at_mut(out.len().min(WORDS - self.next));
            dispatch(Temper { from: &self.state[self.next..self.next + now.len()], to: now });
            self.next += now.len();
            out = later;
        }
    }

    /// The next 64 random bits: two draws, the first one on top.
    #[inline]
    pub fn random64(&mut self) -> u64 {
        let high = u64::from(self.random());
        high << 32 | u64::from(self.random())
    }

    /// Replaces all words by the next generation of them.
    fn twist(&mut self) {
        dispatch(Twist(&mut self.state));
        self.next = 0;
    }

    /// One normal value by the scalar method: pairs, of which the second is kept for later.
    pub fn normal(&mut self, mean: f64, std: f64) -> f64 {
        let value = self.spare_normal.take().unwrap_or_else(|| {
            let turn = f64::unit(self);
            let radius = (-2.0 * (-f64::unit(self)).ln_1p()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
            self.spare_normal = Some(radius * sin);
            radius * cos
        });
        value.mul_add(std, mean)
    }

    /// An integer of `[base, base + range)`; a range of 0 stands for 2^64.
    pub fn random_from(&mut self, base: i64, range: u64) -> i64 {
        let offset = match range {
            0 => self.random64(),
            1..WIDE_RANGE => u64::from(self.random()) % range,
            _ => self.random64() % range,
        };
        base.wrapping_add_unsigned(offset)
    }

    /// `uniform_`: values of `[from, to)`.
    pub fn fill_uniform<T: Real>(&mut self, out: &mut [T], from: f64, to: f64) {
        let (low, high) = (T::from_f64(from), T::from_f64(to));
        let compute = <T::Compute as Element>::from_f64;
        let (from, to) = (compute(from), compute(to));
        let plain = from == compute(0.0) && to == compute(1.0);
        for slot in out {
            let unit = T::Compute::unit(self);
            let value = T::from_compute(if plain { unit } else { unit.stretch(from, to) });
            // Rounding may reach the excluded upper bound.
            *slot = if value == high { low } else { value };
        }
    }

    /// `normal_` on contiguous memory: by blocks of sixteen values, or one by one when it is short.
    pub fn fill_normal<T: Real>(&mut self, out: &mut [T], mean: f64, std: f64) {
        if out.len() < BLOCK {
            self.fill_normal_scalar(out, mean, std);
            return;
        }
        let rest = out.len() % BLOCK;
        if let Some(singles) = T::singles(out) {
            self.normal_blocks(singles.as_chunks_mut().0, mean as f32, std as f32);
        } else {
            for chunk in out.chunks_exact_mut(BLOCK) {
                self.normal_block(chunk, mean, std);
            }
        }
        if rest == 0 {
            return;
        }
        // torch first draws a uniform value for every element where it works in place, that is
        // for f32 and f64, and then draws the last sixteen again.
        if size_of::<T>() == size_of::<T::Compute>() {
            for _ in 0..rest {
                T::Compute::unit(self);
            }
        }
        if let Some((_, last)) = out.split_last_chunk_mut::<BLOCK>() {
            self.normal_block(last, mean, std);
        }
    }

    /// As `normal_block` for each, drawn first and then transformed on several threads.
    fn normal_blocks(&mut self, blocks: &mut [[f32; BLOCK]], mean: f32, std: f32) {
        for part in blocks.chunks_mut(PART) {
            let mut words = [0; PART * BLOCK];
            let words = &mut words[..part.len() * BLOCK];
            self.fill_words(words);
            dispatch(Units { words, to: part.as_flattened_mut() });
        }
        if blocks.len() * BLOCK < PARALLEL_ABOVE {
            box_muller::transform_all(blocks, mean, std);
        } else {
            spread_parts(blocks, PART, 4, &|_, part| box_muller::transform_all(part, mean, std));
        }
    }

    fn normal_block<T: Real>(&mut self, out: &mut [T], mean: f64, std: f64) {
        let mut block: [T::Compute; BLOCK] = std::array::from_fn(|_| T::Compute::unit(self));
        T::Compute::box_muller(&mut block, mean, std);
        for (slot, value) in out.iter_mut().zip(block) {
            *slot = T::from_compute(value);
        }
    }

    /// `normal_` as torch does it where memory is not contiguous: one value after the other.
    pub fn fill_normal_scalar<T: Element>(&mut self, out: &mut [T], mean: f64, std: f64) {
        self.fill_f64(out, |generator| generator.normal(mean, std));
    }

    /// `random_(from, to)` and `randint`: integers of `[base, base + range)`, 0 meaning 2^64.
    pub fn fill_random_from<T: Element>(&mut self, out: &mut [T], base: i64, range: u64) {
        for slot in out {
            *slot = T::from_i64(self.random_from(base, range));
        }
    }

    /// `random_()`: integers from 0 to the largest one that the type holds exactly.
    pub fn fill_random<T: Element>(&mut self, out: &mut [T]) {
        for slot in out {
            let bits = if T::WIDE { self.random64() } else { u64::from(self.random()) };
            *slot = T::from_i64((bits % T::SPAN) as i64);
        }
    }

    /// `bernoulli_(p)`: ones with probability `p`, else zeros.
    pub fn fill_bernoulli<T: Element>(&mut self, out: &mut [T], p: f64) {
        for part in out.chunks_mut(COINS) {
            let coins = self.toss(part.len(), p);
            for (slot, coin) in part.iter_mut().zip(coins) {
                *slot = T::from_i64(i64::from(coin));
            }
        }
    }

    /// As `fill_bernoulli` for rows of so many columns, with a bit for each, the first in a byte's lowest; a row begins
    /// with a byte of its own.
    pub fn fill_bernoulli_bits(&mut self, out: &mut [u8], columns: usize, p: f64) {
        for row in out.chunks_exact_mut(columns.div_ceil(8).max(1)) {
            for (part, bytes) in row.chunks_mut(COINS / 8).enumerate() {
                let coins = self.toss(COINS.min(columns - part * COINS), p);
                for (byte, coins) in bytes.iter_mut().zip(coins.as_chunks::<8>().0) {
                    // The product brings the lowest bits of the eight bytes together in the highest byte.
                    *byte = (u64::from_le_bytes(*coins).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
                }
            }
        }
    }

    /// `count` draws of `f64::unit(self) < p`, zeros after them.
    fn toss(&mut self, count: usize, p: f64) -> [u8; COINS] {
        let mut words = [0; 2 * COINS];
        self.fill_words(&mut words[..2 * count]);
        let mut coins = [0; COINS];
        // A unit is an integer over 2^53, and so the comparison one of integers.
        let below = (p * (1u64 << 53) as f64).ceil() as i64;
        dispatch(Toss { words: &words[..2 * count], below, coins: &mut coins });
        coins
    }

    /// `bernoulli(p)` with a probability for each element; the shorter slice decides how many.
    pub fn fill_bernoulli_each<T: Element, P: Real>(&mut self, out: &mut [T], p: &[P]) {
        for (slot, p) in out.iter_mut().zip(p) {
            *slot = T::from_i64(i64::from(P::Compute::unit(self) < p.to_compute()));
        }
    }

    /// `exponential_(rate)`.
    pub fn fill_exponential<T: Element>(&mut self, out: &mut [T], rate: f64) {
        self.fill_f64(out, |generator| -1.0 / rate * (-f64::unit(generator)).ln_1p());
    }

    /// What `weights` over as many exponential numbers are, drawn first and then computed on several threads.
    fn races<P: Real>(&mut self, weights: &[P]) -> Vec<P> {
        let mut scores = weights.to_vec();
        for some in scores.chunks_mut(RACES) {
            let mut words = vec![0; 2 * some.len()];
            self.fill_words(&mut words);
            let (units, _) = words.as_chunks::<2>();
            spread_parts(some, PART, 4, &|part, scores| {
                for (score, &words) in scores.iter_mut().zip(&units[part * PART..]) {
                    let time = P::from_f64(-(-double_unit(words)).ln_1p());
                    *score = P::from_compute(score.to_compute().over(time.to_compute()));
                }
            });
        }
        scores
    }

    /// `geometric_(p)`: the number of trials up to the first success.
    pub fn fill_geometric<T: Element>(&mut self, out: &mut [T], p: f64) {
        self.fill_f64(out, |generator| (f64::unit(generator).ln() / (-p).ln_1p()).ceil());
    }

    /// `cauchy_(median, sigma)`.
    pub fn fill_cauchy<T: Element>(&mut self, out: &mut [T], median: f64, sigma: f64) {
        self.fill_f64(out, |generator| {
            (std::f64::consts::PI * (f64::unit(generator) - 0.5)).tan().mul_add(sigma, median)
        });
    }

    /// `log_normal_(mean, std)`.
    pub fn fill_log_normal<T: Element>(&mut self, out: &mut [T], mean: f64, std: f64) {
        self.fill_f64(out, |generator| generator.normal(mean, std).exp());
    }

    fn fill_f64<T: Element>(&mut self, out: &mut [T], mut draw: impl FnMut(&mut Self) -> f64) {
        for slot in out {
            *slot = T::from_f64(draw(self));
        }
    }

    /// A Poisson number of the given rate: by products of uniforms, or by transformed rejection (Hörmann 1993) from 10 on.
    pub fn poisson(&mut self, rate: f64) -> f64 {
        if rate < 10.0 {
            let limit = (-rate).exp();
            let mut count = 0.0;
            if rate == 0.0 {
                return count;
            }
            let mut product = f64::unit(self);
            while product > limit {
                count += 1.0;
                product *= f64::unit(self);
            }
            return count;
        }
        let (root, log_rate) = (rate.sqrt(), rate.ln());
        let b = 0.931 + 2.53 * root;
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let accept = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let centred = f64::unit(self) - 0.5;
            let height = f64::unit(self);
            let edge = 0.5 - centred.abs();
            let count = ((2.0 * a / edge + b) * centred + rate + 0.43).floor();
            if edge >= 0.07 && height <= accept {
                return count;
            }
            if count < 0.0 || edge < 0.013 && height > edge {
                continue;
            }
            let left = height.ln() + inverse_alpha.ln() - (a / (edge * edge) + b).ln();
            if left <= -rate + count * log_rate - libm::lgamma(count + 1.0) {
                return count;
            }
            // An infinite rate would be rejected for ever.
            if !count.is_finite() {
                return rate;
            }
        }
    }

    /// `randperm(n)`: the integers below `n` in random order.
    pub fn randperm(&mut self, n: usize) -> Vec<i64> {
        let mut order: Vec<i64> = (0..n as i64).collect();
        if n < WIDE_PERMUTATION {
            for index in 0..n.saturating_sub(1) {
                let step = self.random() as usize % (n - index);
                order.swap(index, index + step);
            }
        } else {
            for index in 0..n {
                let other = self.random64() % (index as u64 + 1);
                order.swap(index, other as usize);
            }
        }
        order
    }

    /// `multinomial`: `samples` indices for each row of `categories` weights.
    ///
    /// # Errors
    /// torch's message when a weight is negative or not finite, or a row sums to nothing.
    pub fn multinomial<P: Real>(
        &mut self,
        weights: &[P],
        categories: usize,
        samples: usize,
        replacement: bool,
    ) -> Result<Vec<i64>, String> {
        check_weights(weights, categories)?;
        if replacement && samples > 1 {
            let mut picked = Vec::new();
            for row in weights.chunks_exact(categories.max(1)) {
                self.pick_with_replacement(row, samples, &mut picked);
            }
            return Ok(picked);
        }
        // The k largest of weight / exponential are a sample without replacement.
        let scores = self.races(weights);
        let rows = scores.len() / categories.max(1);
        let mut picked = vec![0; rows * samples];
        spread_parts(&mut picked, samples, (PART / categories.max(1)).max(1), &|row, places| {
            pick_first(&scores[row * categories..(row + 1) * categories], places);
        });
        Ok(picked)
    }

    fn pick_with_replacement<P: Real>(&mut self, row: &[P], samples: usize, out: &mut Vec<i64>) {
        let mut sum = <P::Compute as Element>::from_i64(0);
        let running = row.iter().map(|weight| {
            sum = sum.plus(weight.to_compute());
            sum
        });
        let mut cumulative: Vec<P::Compute> = running.collect();
        for value in &mut cumulative {
            *value = value.over(sum);
        }
        if let Some(last) = cumulative.last_mut() {
            *last = <P::Compute as Element>::from_i64(1);
        }
        for _ in 0..samples {
            let mark = f64::unit(self);
            out.push(cumulative.partition_point(|value| Into::<f64>::into(*value) < mark) as i64);
        }
    }
}

/// The places of the highest scores, which are at least as many, the first of equals first.
fn pick_first<P: Real>(row: &[P], places: &mut [i64]) {
    let score = |index: usize| -> f64 { row[index].to_compute().into() };
    if places.len() > FEW {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        places.iter_mut().zip(order).for_each(|(place, index)| *place = index as i64);
        return;
    }
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(places.len() + 1);
    for index in 0..row.len() {
        let new = score(index);
        let is_full = best.len() == places.len();
        if is_full && best.last().is_some_and(|(worst, _)| new.total_cmp(worst).is_le()) {
            continue;
        }
        let at = best.partition_point(|(old, _)| old.total_cmp(&new).is_ge());
        best.insert(at, (new, index));
        best.truncate(places.len());
    }
    places.iter_mut().zip(best).for_each(|(place, (_, index))| *place = index as i64);
}

fn check_weights<P: Real>(weights: &[P], categories: usize) -> Result<(), String> {
    let each = categories.max(1);
    let sum = |row: usize| {
        let row = &weights[row * each..weights.len().min((row + 1) * each)];
        // Minus one where a weight is none.
        let weight = |weight: &P| -> f64 { weight.to_compute().into() };
        let usual = row.iter().fold(true, |usual, one| usual & (0.0..f64::INFINITY).contains(&weight(one)));
        if usual { row.iter().map(weight).sum() } else { -1.0 }
    };
    let sums: Vec<f64> = gathered(weights.len().div_ceil(each), (PART / each).max(1), 0.0, sum);
    for sum in sums {
        if sum < 0.0 {
            return Err("probability tensor contains either `inf`, `nan` or element < 0".to_owned());
        }
        if sum <= 0.0 {
            return Err("invalid multinomial distribution (sum of probabilities <= 0)".to_owned());
        }
    }
    Ok(())
}

/// A value of `[0, 1)` from two words, as `f64::unit` makes it.
fn double_unit([high, low]: [u32; 2]) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((u64::from(high) << 32 | u64::from(low)) & ((1 << 53) - 1)) as f64 * STEP
}

/// Values of `[0, 1)` from words, as `f32::unit` makes them.
struct Units<'a> {
    words: &'a [u32],
    to: &'a mut [f32],
}

impl Task for Units<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        const STEP: f32 = 1.0 / (1 << 24) as f32;
        for (to, &word) in self.to.iter_mut().zip(self.words) {
            *to = (word & 0x00ff_ffff) as i32 as f32 * STEP;
        }
    }
}

/// One of mt19937's words as it is handed out.
#[inline(always)]
fn tempered(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c_5680;
    word ^= word << 15 & 0xefc6_0000;
    word ^ word >> 18
}

/// Words that are handed out.
struct Temper<'a> {
    from: &'a [u32],
    to: &'a mut [u32],
}

impl Task for Temper<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to = tempered(*from);
        }
    }
}

/// The next generation of all words.
struct Twist<'a>(&'a mut [u32; WORDS]);

impl Task for Twist<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let state = self.0;
        // Without a remainder in the index each loop is one of vectors.
        for index in 0..WORDS - MIDDLE {
            state[index] = state[index + MIDDLE] ^ mixed(state[index], state[index + 1]);
        }
        for index in WORDS - MIDDLE..WORDS - 1 {
            state[index] = state[index + MIDDLE - WORDS] ^ mixed(state[index], state[index + 1]);
        }
        state[WORDS - 1] = state[MIDDLE - 1] ^ mixed(state[WORDS - 1], state[0]);
    }
}

#[inline(always)]
fn mixed(this: u32, next: u32) -> u32 {
    let flip = (next & 1).wrapping_neg() & 0x9908_b0df;
    (this & 0x8000_0000 | next & 0x7fff_ffff) >> 1 ^ flip
}

/// Whether the lower 53 bits of pairs of words, the first one on top, are below a number.
struct Toss<'a> {
    words: &'a [u32],
    below: i64,
    coins: &'a mut [u8],
}

impl Task for Toss<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (coin, &[high, low]) in self.coins.iter_mut().zip(self.words.as_chunks::<2>().0) {
            *coin = u8::from((i64::from(high & 0x001f_ffff) << 32 | i64::from(low)) < self.below);
        }
    }
}

/// Takes fixed-size pieces off the front of a byte slice.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or("the RNG state is cut short")?;
        self.0 = tail;
        Ok(*head)
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    /// Runs `draw` on a generator seeded with 42, the seed of all expected numbers below,
    /// which torch 2.15 gave.
    fn seeded<R>(draw: impl FnOnce(&mut Generator) -> R) -> R {
        draw(&mut Generator::new(42))
    }

    #[test]
    fn uniform_values_are_torchs() {
        let mut single = [0f32; 3];
        seeded(|g| g.fill_uniform(&mut single, 0.0, 1.0));
        assert_eq!(single, [0.882_269_26, 0.915_003_96, 0.382_863_76]);
        let mut double = [0f64; 2];
        seeded(|g| g.fill_uniform(&mut double, 0.0, 1.0));
        assert_eq!(double, [0.05815448596142969, 0.06291016742457756]);
    }

    #[test]
    fn normal_values_are_torchs_one_by_one_and_in_blocks() {
        let mut few = [0f32; 3];
        seeded(|g| g.fill_normal(&mut few, 0.0, 1.0));
        assert_eq!(few, [0.336_690_37, 0.128_809_41, 0.234_462_37]);
        let mut many = [0f32; 17];
        let next = seeded(|g| {
            g.fill_normal(&mut many, 0.0, 1.0);
            f32::unit(g)
        });
        assert_eq!([many[0], many[8], many[16]], [1.926_915_3, 0.355_859_9, -0.309_726_77]);
        assert_eq!(next, 0.583_209_57);
        let mut half = [bf16::ZERO; 17];
        let next = seeded(|g| {
            g.fill_normal(&mut half, 0.0, 1.0);
            f32::unit(g)
        });
        assert_eq!([half[0].to_f32(), half[16].to_f32()], [1.929_687_5, 0.859_375]);
        assert_eq!(next, 0.886_013_7);
    }

    #[test]
    fn discrete_values_are_torchs() {
        assert_eq!(seeded(|g| g.randperm(8)), [6, 3, 0, 7, 2, 1, 4, 5]);
        let mut integers = [0i64; 8];
        seeded(|g| g.fill_random_from(&mut integers, -5, 10));
        assert_eq!(integers, [-3, 2, 1, -1, 1, 0, -5, -1]);
        let mut coins = [false; 8];
        seeded(|g| g.fill_bernoulli(&mut coins, 0.5));
        assert_eq!(coins, [true, true, true, true, false, true, false, false]);
        let mut bits = [0; 4];
        seeded(|g| g.fill_bernoulli_bits(&mut bits[..1], 8, 0.5));
        assert_eq!(bits[0], 0b0010_1111);
        seeded(|g| g.fill_bernoulli_bits(&mut bits, 3, 0.5));
        assert_eq!(bits[..2], [0b111, 0b101]);
        let weights = [0.1f32, 0.2, 0.3, 0.4];
        let with = seeded(|g| g.multinomial(&weights, 4, 8, true));
        assert_eq!(with, Ok(vec![0, 0, 1, 0, 2, 2, 3, 3]));
        let without = seeded(|g| g.multinomial(&weights, 4, 4, false));
        assert_eq!(without, Ok(vec![3, 1, 2, 0]));
    }

    #[test]
    fn a_state_continues_its_stream_and_bad_states_change_nothing() {
        let mut source = Generator::new(7);
        source.normal(0.0, 1.0);
        let mut copy = Generator::new(8);
        assert_eq!(copy.set_state(&source.get_state()), Ok(()));
        assert_eq!(copy.normal(0.0, 1.0), source.normal(0.0, 1.0));
        assert_eq!(copy.random64(), source.random64());

        let before = copy.get_state();
        let mut past_the_end = before.clone();
        past_the_end[16] = 0xff;
        past_the_end[17] = 0xff;
        assert!(copy.set_state(&past_the_end).is_err());
        assert!(copy.set_state(&before[1..]).is_err());
        assert_eq!(copy.get_state(), before);
    }
}
