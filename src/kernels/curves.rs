//! The vectorised functions by name, and what multiplies a gradient (benchmarks/bars.py: elementwise).

use super::math;
use super::vector::Lanes;

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
    Exp = exp;
    Expm1 = expm1;
    Log = log;
    Log2 = log2;
    Log10 = log10;
    Log1p = log1p;
    Atan = atan;
    Tanh = tanh;
    Sigmoid = sigmoid;
    Erf = erf;
    Gelu = gelu;
}

macro_rules! angles {
    ($($name:ident = $function:ident;)+) => {
        $(pub struct $name;

        impl Lanes<1> for $name {
            const NEAR: f32 = math::FARTHEST_ANGLE;
            #[inline(always)]
            fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
                math::$function::<FMA>(x)
            }
            fn far(&self, [x]: [f32; 1]) -> f32 {
                x.$function()
            }
        })+
    };
}

angles! {
    Sin = sin;
    Cos = cos;
    Tan = tan;
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
    Silu {}, F, [x] => x * math::sigmoid::<F>(x);
    SiluSlope {}, F, [grad, x] => {
        let gate = math::sigmoid::<F>(x);
        grad * (gate * (1.0 + x * (1.0 - gate)))
    };
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
    LogSigmoidSlope {}, F, [grad, x] => grad * math::sigmoid::<F>(-x);
    Elu { below, scale, input_scale }, F, [x] => {
        let curve = below * math::expm1::<F>(x * input_scale);
        if x > 0.0 { x * scale } else { curve }
    };
    EluSlope { below, scale, input_scale }, F, [grad, x] => {
        let curve = grad * (math::exp::<F>(x * input_scale) * below * input_scale);
        if x > 0.0 { grad * scale } else { curve }
    };
    GeluSlope {}, F, [grad, x] => grad * math::gelu_slope::<F>(x);
    GeluTanh {}, F, [x] => 0.5 * x * (1.0 + math::tanh::<F>(TANH_SCALE * (x + TANH_CUBIC * x * x * x)));
    GeluTanhSlope {}, F, [grad, x] => {
        let square = x * x;
        let tanh = math::tanh::<F>(TANH_SCALE * (x + TANH_CUBIC * square * x));
        let bend = (1.0 - tanh * tanh) * (TANH_SCALE * (1.0 + 3.0 * TANH_CUBIC * square));
        grad * (0.5 * (1.0 + tanh + x * bend))
    };
    TanhSlope {}, F, [grad, y] => grad * (1.0 - y * y);
    SigmoidSlope {}, F, [grad, y] => grad * (y * (1.0 - y));
    ReluSlope {}, F, [grad, y] => if y <= 0.0 { 0.0 } else { grad };
}
