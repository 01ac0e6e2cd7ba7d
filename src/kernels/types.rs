//! From a dtype to the Rust type of its elements: one match, and the lists of types that kernels want it over.

/// Runs `$body` with `$T` standing for the type that the list gives for a dtype, and `$other` for dtypes not in it.
#[macro_export]
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr, [$($($variant:ident)|+ => $type:ty),+ $(,)?], else $other:expr) => {
        match $dtype {
            $($($crate::dtype::DType::$variant)|+ => {
                type $T = $type;
                $body
            })+
            _ => $other,
        }
    };
}

/// All real dtypes; what lies in memory as a boolean is a `Truth`.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            Bool => $crate::kernels::element::Truth,
            U8 => u8, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U16 => u16, U32 => u32, U64 => u64,
            F16 => half::f16, BF16 => half::bf16, F32 => f32, F64 => f64,
        ], else $other)
    };
}

/// Float dtypes alone.
#[macro_export]
macro_rules! with_float {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            F16 => half::f16, BF16 => half::bf16, F32 => f32, F64 => f64,
        ], else $other)
    };
}

/// Integers and booleans alone.
#[macro_export]
macro_rules! with_int {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            Bool => $crate::kernels::element::Truth,
            U8 => u8, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U16 => u16, U32 => u32, U64 => u64,
        ], else $other)
    };
}

/// All real dtypes to compute with; booleans are bytes.
#[macro_export]
macro_rules! with_number {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            F32 => f32, F64 => f64, F16 => half::f16, BF16 => half::bf16,
            I64 => i64, I32 => i32, I16 => i16, I8 => i8, U8 | Bool => u8, U16 => u16, U32 => u32, U64 => u64,
        ], else $other)
    };
}

/// Integers to compute with; booleans are bytes.
#[macro_export]
macro_rules! with_integer {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            I64 => i64, I32 => i32, I16 => i16, I8 => i8, U8 | Bool => u8, U16 => u16, U32 => u32, U64 => u64,
        ], else $other)
    };
}

/// All real dtypes for functions that only look at bits: unsigned types go as signed ones of their size.
#[macro_export]
macro_rules! with_bits {
    ($dtype:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::with_type!($dtype, $T => $body, [
            F32 => f32, F64 => f64, F16 => half::f16, BF16 => half::bf16,
            I64 | U64 => i64, I32 | U32 => i32, I16 | U16 => i16, I8 | U8 | Bool => i8,
        ], else $other)
    };
}
