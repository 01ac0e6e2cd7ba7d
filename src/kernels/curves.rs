//! The vectorised functions by name, and what multiplies a gradient (benchmarks/bars.py: elementwise).

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::math;
use super::number::Number;
use super::vector::Lanes;
#[cfg(target_arch = "x86_64")]
use super::wide;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)+) => {
        $($(#[$doc])*
        pub struct $name;

        impl Lanes<1> for $name {
            #[inline(always)]
            fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$function::<FMA>(x)
            }
        })+
    };
}

functions! {
    Expm1 = expm1;
    Log1p = log1p;
    Atan = atan;
    Asin = asin;
    Acos = acos;
    Atanh = atanh;
    Exp2 = exp2;
    Erfc = erfc;
}

/// Functions that `wide` has too.
macro_rules! wide_functions {
    ($($name:ident = $function:ident;)+) => {
        $(pub struct $name;

        impl Lanes<1> for $name {
            const WIDE: bool = true;
            #[inline(always)]
            fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$function::<FMA>(x)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn wide(&self, [x]: [__m512; 1]) -> __m512 {
                wide::$function(x)
            }
        })+
    };
}

wide_functions! {
    Exp = exp;
    Tanh = tanh;
    Erf = erf;
    Sigmoid = sigmoid;
}

/// Functions that `wide` has too, here of positive, finite and normal numbers.
macro_rules! usual_functions {
    ($($name:ident = $usual:ident, $function:ident;)+) => {
        $(pub struct $name;

        impl Lanes<1> for $name {
            const WIDE: bool = true;
            #[inline(always)]
            fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$usual::<FMA>(x)
            }
            #[inline(always)]
            fn is_far(&self, [x]: [f32; 1]) -> bool {
                !math::is_usual(x)
            }
            const WHOLE: bool = true;
            #[inline(always)]
            fn whole<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$function::<FMA>(x)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn wide(&self, [x]: [__m512; 1]) -> __m512 {
                wide::$function(x)
            }
        })+
    };
}

usual_functions! {
    Log = usual_log, log;
    Log2 = usual_log2, log2;
    Log10 = usual_log10, log10;
}

pub struct Rsqrt;

impl Lanes<1> for Rsqrt {
    const WIDE: bool = true;
    const NARROW: bool = true;
    #[inline(always)]
    fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
        math::rsqrt::<FMA>(x)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn wide(&self, [x]: [__m512; 1]) -> __m512 {
        wide::rsqrt(x)
    }
    /// From an estimate of 12 bits in one step, which leaves the third power of its error: neither a root nor a
    /// division, which take twice as long.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn narrow(&self, [x]: [__m256; 1]) -> __m256 {
        let (near, one) = (_mm256_rsqrt_ps(x), _mm256_set1_ps(1.0));
        let error = _mm256_fnmadd_ps(_mm256_mul_ps(x, near), near, one);
        let bend = _mm256_fmadd_ps(error, _mm256_set1_ps(0.375), _mm256_set1_ps(0.5));
        let value = _mm256_fmadd_ps(_mm256_mul_ps(near, error), bend, near);
        // Zeros, infinity and numbers so small that their products lose bits; negative ones are NaN already.
        let small = _mm256_cmp_ps::<_CMP_LT_OQ>(x, _mm256_set1_ps(1e-36));
        let small = _mm256_and_ps(small, _mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(-1e-36)));
        let special = _mm256_or_ps(small, _mm256_cmp_ps::<_CMP_EQ_OQ>(x, _mm256_set1_ps(f32::INFINITY)));
        if _mm256_movemask_ps(special) == 0 {
            return value;
        }
        _mm256_blendv_ps(value, _mm256_div_ps(one, _mm256_sqrt_ps(x)), special)
    }
}

macro_rules! angles {
    ($($name:ident = $near:ident up to $reach:expr, $function:ident { $($wide:tt)* })+) => {
        $(pub struct $name;

        impl Lanes<1> for $name {
            const NEAR: f32 = $reach;
            #[inline(always)]
            fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$near::<FMA>(x)
            }
            const WHOLE: bool = $reach < math::FARTHEST_ANGLE;
            #[inline(always)]
            fn whole<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$function::<FMA>(x)
            }
            #[inline(always)]
            fn is_beyond(&self, [x]: [f32; 1]) -> bool {
                x.abs() > math::FARTHEST_ANGLE
            }
            fn far(&self, [x]: [f32; 1]) -> f32 {
                x.$function()
            }
            $($wide)*
        })+
    };
}

/// `value`, but where `far` says so what `f` makes of `x`.
///
/// # Safety
/// The processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn except(value: __m512, far: __mmask16, x: __m512, f: impl Fn(f32) -> f32) -> __m512 {
    if far == 0 {
        return value;
    }
    let mut numbers = [0.0; 16];
    // SAFETY: 16 numbers have room in the array.
    unsafe {
        _mm512_storeu_ps(numbers.as_mut_ptr(), x);
        each(&mut numbers, f);
        _mm512_mask_loadu_ps(value, far, numbers.as_ptr())
    }
}

/// Out of the loop, whose registers it would take. Without these instructions each product and sum would be a call.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn each(numbers: &mut [f32; 16], f: impl Fn(f32) -> f32) {
    for number in numbers {
        *number = f(*number);
    }
}

macro_rules! wide_angle {
    ($function:ident) => {
        const WIDE: bool = true;
        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn wide(&self, [x]: [__m512; 1]) -> __m512 {
            wide::$function(x)
        }
    };
}

angles! {
    Sin = near_sin up to math::NEAR_ANGLE, sin { wide_angle! { sin } }
    Cos = near_cos up to math::NEAR_ANGLE, cos { wide_angle! { cos } }
    Tan = tan up to math::FARTHEST_ANGLE, tan {}
}

/// What a probability costs that should have been another one.
pub struct ProbabilityLoss;

impl Lanes<2> for ProbabilityLoss {
    #[inline(always)]
    fn at<const FMA: bool>(&self, [x, wanted]: [f32; 2]) -> f32 {
        let held = |logarithm: f32| if logarithm < -100.0 { -100.0 } else { logarithm };
        (wanted - 1.0) * held(math::log1p::<FMA>(-x)) - wanted * held(math::log::<FMA>(x))
    }
}

pub struct Pow;

impl Lanes<2> for Pow {
    #[inline(always)]
    fn at<const FMA: bool>(&self, [x, y]: [f32; 2]) -> f32 {
        math::pow::<FMA>(x, y)
    }
    #[inline(always)]
    fn is_far(&self, [x, y]: [f32; 2]) -> bool {
        let usual = (x.abs() < f32::INFINITY) & (y.abs() < f32::INFINITY) & (x != 0.0);
        !usual
    }
    fn far(&self, [x, y]: [f32; 2]) -> f32 {
        x.powf(y)
    }
}

/// Functions of two numbers, for those of them that `$usual` calls usual; the others are computed one by one.
macro_rules! pairs {
    ($($name:ident, $fma:ident, [$a:ident, $b:ident] => $value:expr, $usual:expr, $far:expr;)+) => {
        $(pub struct $name {}

        impl Lanes<2> for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, [$a, $b]: [f32; 2]) -> f32 {
                $value
            }
            #[inline(always)]
            fn is_far(&self, [$a, $b]: [f32; 2]) -> bool {
                !$usual
            }
            fn far(&self, [$a, $b]: [f32; 2]) -> f32 {
                $far
            }
        })+
    };
}

pairs! {
    Fmod, F, [a, b] => math::fmod::<F>(a, b), math::divides(a, b), a % b;
    Remainder, F, [a, b] => math::remainder::<F>(a, b), math::divides(a, b), Number::remainder(a, b);
    FloorDivide, F, [a, b] => math::floor_div::<F>(a, b), math::divides(a, b), Number::floor_div(a, b);
    Atan2, F, [y, x] => math::atan2::<F>(y, x), (y.abs() < f32::INFINITY) & (x.abs() < f32::INFINITY) & (x != 0.0),
        y.atan2(x);
    Hypot, F, [a, b] => (f64::from(a) * f64::from(a) + f64::from(b) * f64::from(b)).sqrt() as f32,
        (a.abs() < f32::INFINITY) & (b.abs() < f32::INFINITY), a.hypot(b);
    Xlogy, F, [a, b] => if a == 0.0 { 0.0 } else { a * math::usual_log::<F>(b) },
        math::is_usual(b) | ((a == 0.0) & (b == 0.0)),
        if b.is_nan() { b } else if a == 0.0 { 0.0 } else { a * b.ln() };
    LogAddExp, F, [a, b] => {
        let (high, low) = if a > b { (a, b) } else { (b, a) };
        high + math::log1p::<F>(math::exp::<F>(low - high))
    }, (a.abs() < f32::INFINITY) & (b.abs() < f32::INFINITY), {
        if a == b { a } else { a.max(b) + if a.is_nan() || b.is_nan() { f32::NAN } else { 0.0 } }
    };
}

/// Functions so cheap that memory bounds them: written out for AVX-512, large results go past the caches.
macro_rules! wide_curves {
    ($($name:ident { $($setting:ident),* }, $fma:ident, [$($x:ident),+] => $value:expr, $wide:expr;)+) => {
        $(pub struct $name {
            $(pub $setting: f32,)*
        }

        impl Lanes<{ [$(stringify!($x)),+].len() }> for $name {
            const WIDE: bool = true;
            #[inline(always)]
            fn at<const $fma: bool>(&self, [$($x),+]: [f32; { [$(stringify!($x)),+].len() }]) -> f32 {
                let Self { $($setting),* } = *self;
                $value
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn wide(&self, [$($x),+]: [__m512; { [$(stringify!($x)),+].len() }]) -> __m512 {
                $(let $setting = _mm512_set1_ps(self.$setting);)*
                $wide
            }
        })+
    };
}

/// Functions of two instructions at most, which both widths have.
macro_rules! short_curves {
    ($($(#[$doc:meta])* $name:ident { $($setting:ident),* }, [$($x:ident),+] => $value:expr, $narrow:expr, $wide:expr;)+) => {
        $($(#[$doc])*
        pub struct $name {
            $(pub $setting: f32,)*
        }

        impl Lanes<{ [$(stringify!($x)),+].len() }> for $name {
            const WIDE: bool = true;
            const NARROW: bool = true;
            #[inline(always)]
            fn at<const FMA: bool>(&self, [$($x),+]: [f32; { [$(stringify!($x)),+].len() }]) -> f32 {
                $(let $setting = self.$setting;)*
                $value
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn wide(&self, [$($x),+]: [__m512; { [$(stringify!($x)),+].len() }]) -> __m512 {
                $(let $setting = _mm512_set1_ps(self.$setting);)*
                $wide
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn narrow(&self, [$($x),+]: [__m256; { [$(stringify!($x)),+].len() }]) -> __m256 {
                $(let $setting = _mm256_set1_ps(self.$setting);)*
                $narrow
            }
        })+
    };
}

// The second operand of a maximum wins where one is NaN, and where both are zero.
short_curves! {
    Relu {}, [x] => if x >= 0.0 || x.is_nan() { x } else { 0.0 },
        _mm256_max_ps(_mm256_setzero_ps(), x), _mm512_max_ps(_mm512_setzero_ps(), x);
    /// The number, or the bound that it is beyond; the upper one wins.
    Within { low, high }, [x] => {
            let x = if x < low { low } else { x };
            if x > high { high } else { x }
        }, _mm256_min_ps(high, _mm256_max_ps(low, x)), _mm512_min_ps(high, _mm512_max_ps(low, x));
    Add {}, [a, b] => a + b, _mm256_add_ps(a, b), _mm512_add_ps(a, b);
    Sub {}, [a, b] => a - b, _mm256_sub_ps(a, b), _mm512_sub_ps(a, b);
    Mul {}, [a, b] => a * b, _mm256_mul_ps(a, b), _mm512_mul_ps(a, b);
    Div {}, [a, b] => a / b, _mm256_div_ps(a, b), _mm512_div_ps(a, b);
    AddNumber { number }, [x] => x + number, _mm256_add_ps(x, number), _mm512_add_ps(x, number);
    FromNumber { number }, [x] => number - x, _mm256_sub_ps(number, x), _mm512_sub_ps(number, x);
    MulNumber { number }, [x] => x * number, _mm256_mul_ps(x, number), _mm512_mul_ps(x, number);
    OverNumber { number }, [x] => x / number, _mm256_div_ps(x, number), _mm512_div_ps(x, number);
    NumberOver { number }, [x] => number / x, _mm256_div_ps(number, x), _mm512_div_ps(number, x);
    Square {}, [x] => x * x, _mm256_mul_ps(x, x), _mm512_mul_ps(x, x);
    Sqrt {}, [x] => x.sqrt(), _mm256_sqrt_ps(x), _mm512_sqrt_ps(x);
    Reciprocal {}, [x] => 1.0 / x, _mm256_div_ps(_mm256_set1_ps(1.0), x), _mm512_div_ps(_mm512_set1_ps(1.0), x);
    Ceil {}, [x] => x.ceil(), _mm256_ceil_ps(x), _mm512_roundscale_ps::<0xA>(x);
    Floor {}, [x] => x.floor(), _mm256_floor_ps(x), _mm512_roundscale_ps::<0x9>(x);
    Round {}, [x] => x.round_ties_even(), _mm256_round_ps::<0x8>(x), _mm512_roundscale_ps::<0x8>(x);
    Trunc {}, [x] => x.trunc(), _mm256_round_ps::<0xB>(x), _mm512_roundscale_ps::<0xB>(x);
}

wide_curves! {
    ReluSlope {}, F, [grad, y] => if y <= 0.0 { 0.0 } else { grad }, {
        _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLE_UQ>(y, _mm512_setzero_ps()), grad)
    };
    LeakyRelu { below }, F, [x] => if x > 0.0 { x } else { x * below }, {
        _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask::<_CMP_NGT_UQ>(x, _mm512_setzero_ps()), x, below)
    };
    Silu {}, F, [x] => x * math::sigmoid::<F>(x), _mm512_mul_ps(x, wide::sigmoid(x));
    Gated {}, F, [value, x] => value * math::sigmoid::<F>(x), _mm512_mul_ps(value, wide::sigmoid(x));
    GateSlope {}, F, [grad, x] => {
        let gate = math::sigmoid::<F>(x);
        grad * (gate * (1.0 - gate))
    }, {
        let gate = wide::sigmoid(x);
        _mm512_mul_ps(grad, _mm512_fnmadd_ps(gate, gate, gate))
    };
    SiluSlope {}, F, [grad, x] => {
        let gate = math::sigmoid::<F>(x);
        grad * (gate * (1.0 + x * (1.0 - gate)))
    }, {
        let (gate, one) = (wide::sigmoid(x), _mm512_set1_ps(1.0));
        let bend = _mm512_fmadd_ps(x, _mm512_sub_ps(one, gate), one);
        _mm512_mul_ps(grad, _mm512_mul_ps(gate, bend))
    };
    Hardswish {}, F, [x] => x * math::within(x + 3.0, 0.0, 6.0) / 6.0, {
        let (six, moved) = (_mm512_set1_ps(6.0), _mm512_add_ps(x, _mm512_set1_ps(3.0)));
        let gate = _mm512_min_ps(six, _mm512_max_ps(_mm512_setzero_ps(), moved));
        _mm512_div_ps(_mm512_mul_ps(x, gate), six)
    };
    HardswishSlope {}, F, [grad, x] => {
        let middle = grad * (x / 3.0 + 0.5);
        let upper = if x >= 3.0 { grad } else { middle };
        if x <= -3.0 { 0.0 } else { upper }
    }, {
        let (three, factor) = (_mm512_set1_ps(3.0), _mm512_set1_ps(1.0 / 3.0));
        // As exact as the quotient, in less than half the time.
        let near = _mm512_mul_ps(x, factor);
        let third = _mm512_fmadd_ps(_mm512_fnmadd_ps(near, three, x), factor, near);
        let middle = _mm512_mul_ps(grad, _mm512_add_ps(third, _mm512_set1_ps(0.5)));
        let upper = _mm512_mask_mov_ps(middle, _mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, three), grad);
        _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLE_UQ>(x, _mm512_set1_ps(-3.0)), upper)
    };
    TanhSlope {}, F, [grad, y] => grad * (1.0 - y * y), {
        _mm512_mul_ps(grad, _mm512_fnmadd_ps(y, y, _mm512_set1_ps(1.0)))
    };
    SigmoidSlope {}, F, [grad, y] => grad * (y * (1.0 - y)), {
        _mm512_mul_ps(grad, _mm512_mul_ps(y, _mm512_sub_ps(_mm512_set1_ps(1.0), y)))
    };
    Prelu {}, F, [x, weight] => if x > 0.0 { x } else { x * weight }, {
        _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask::<_CMP_NGT_UQ>(x, _mm512_setzero_ps()), x, weight)
    };
    LogSigmoidSlope {}, F, [grad, x] => grad * math::sigmoid::<F>(-x), {
        _mm512_mul_ps(grad, wide::sigmoid(_mm512_sub_ps(_mm512_setzero_ps(), x)))
    };
    LeakyReluSlope { below }, F, [grad, x] => if x > 0.0 { grad } else { grad * below }, {
        _mm512_mask_mul_ps(grad, _mm512_cmp_ps_mask::<_CMP_NGT_UQ>(x, _mm512_setzero_ps()), grad, below)
    };
}

/// The functions that `math::near_below` has a curve for, the last number of which decides whether it reaches so far.
macro_rules! gelus {
    ($($name:ident, $fma:ident, [$($x:ident),+] => $near:expr, $far:expr, $wide:expr;)+) => {
        $(pub struct $name;

        impl Lanes<{ [$(stringify!($x)),+].len() }> for $name {
            const WIDE: bool = true;
            #[inline(always)]
            fn at<const $fma: bool>(&self, [$($x),+]: [f32; { [$(stringify!($x)),+].len() }]) -> f32 {
                $near
            }
            #[inline(always)]
            fn is_far(&self, x: [f32; { [$(stringify!($x)),+].len() }]) -> bool {
                x[x.len() - 1] < -math::FARTHEST_BELOW
            }
            fn far(&self, [$($x),+]: [f32; { [$(stringify!($x)),+].len() }]) -> f32 {
                $far
            }
            #[cfg(target_arch = "x86_64")]
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn wide(&self, [$($x),+]: [__m512; { [$(stringify!($x)),+].len() }]) -> __m512 {
                // SAFETY: the caller's.
                unsafe { $wide }
            }
        })+
    };
}

gelus! {
    Gelu, F, [x] => math::near_gelu::<F>(x), math::gelu::<false>(x),
        except(wide::gelu(x), wide::far_below(x), x, math::gelu::<true>);
    GeluSlope, F, [grad, x] => grad * math::near_gelu_slope::<F>(x), grad * math::gelu_slope::<false>(x),
        _mm512_mul_ps(grad, except(wide::gelu_slope(x), wide::far_below(x), x, math::gelu_slope::<true>));
}

/// Functions of one number with settings, and of a gradient beside it.
macro_rules! curves {
    ($($name:ident { $($setting:ident),* }, $fma:ident, [$($x:ident),+] => $value:expr;)+) => {
        $(pub struct $name {
            $(pub $setting: f32,)*
        }

        impl Lanes<{ [$(stringify!($x)),+].len() }> for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, [$($x),+]: [f32; { [$(stringify!($x)),+].len() }]) -> f32 {
                let Self { $($setting),* } = *self;
                $value
            }
        })+
    };
}

const TANH_SCALE: f32 = 0.797_884_56;
const TANH_CUBIC: f32 = 0.044_715;

curves! {
    Softplus { beta, threshold }, F, [x] => {
        let z = x * beta;
        let soft = math::softplus::<F>(z) / beta;
        if z > threshold { x } else { soft }
    };
    SoftplusSlope { beta, threshold }, F, [grad, x] => {
        let z = x * beta;
        let soft = grad * math::sigmoid::<F>(z);
        if z > threshold { grad } else { soft }
    };
    Mish {}, F, [x] => x * math::tanh_softplus::<F>(x);
    MishSlope {}, F, [grad, x] => {
        let tanh = math::tanh_softplus::<F>(x);
        grad * (tanh + x * math::sigmoid::<F>(x) * (1.0 - tanh * tanh))
    };
    LogSigmoid {}, F, [x] => -math::softplus::<F>(-x);
    Elu { below, scale, input_scale }, F, [x] => {
        let curve = below * math::expm1::<F>(x * input_scale);
        if x > 0.0 { x * scale } else { curve }
    };
    EluSlope { below, scale, input_scale }, F, [grad, x] => {
        let curve = grad * (math::exp::<F>(x * input_scale) * below * input_scale);
        if x > 0.0 { grad * scale } else { curve }
    };
    GeluTanh {}, F, [x] => 0.5 * x * (1.0 + math::tanh::<F>(TANH_SCALE * (x + TANH_CUBIC * x * x * x)));
    GeluTanhSlope {}, F, [grad, x] => {
        let square = x * x;
        let tanh = math::tanh::<F>(TANH_SCALE * (x + TANH_CUBIC * square * x));
        let bend = (1.0 - tanh * tanh) * (TANH_SCALE * (1.0 + 3.0 * TANH_CUBIC * square));
        grad * (0.5 * (1.0 + tanh + x * bend))
    };
}
