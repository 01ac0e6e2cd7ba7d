//! Steps of optimizers over many parameters in one call.

use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::autograd::inplace::check;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::iterate::spread_over;
use crate::kernels::memory::Elements;
use crate::kernels::real::Real;
use crate::kernels::steps::{
    Adadelta, Adagrad, Adam, Adamax, Asgd, Lion, Momentum, Nadam, Places, Rmsprop, Rule, Sgd, step,
};
use crate::tensor::Tensor;

/// Elements that one task takes.
const TASK: usize = 1 << 16;

/// Whether tensors lie alike in CPU memory without gaps, each in its own, so that a step is one pass over all.
#[pyfunction]
fn _alike(tensors: Vec<Tensor>) -> bool {
    are_alike(&tensors)
}

fn are_alike(tensors: &[Tensor]) -> bool {
    let Some(first) = tensors.first() else { return false };
    let first = first.core().clone();
    let fits = matches!(first.dtype, DType::F32 | DType::F64) && first.storage.place().is_cpu();
    if !fits || !first.geometry.is_dense() || first.geometry.numel() == 0 {
        return false;
    }
    tensors.iter().enumerate().all(|(index, tensor)| {
        let core = tensor.core();
        let alone = tensors.iter().take(index).all(|other| other.core().storage.address() != core.storage.address());
        alone
            && core.dtype == first.dtype
            && core.storage.place().is_cpu()
            && core.geometry.shape == first.geometry.shape
            && core.geometry.strides == first.geometry.strides
    })
}

/// One optimizer step: for each parameter the parameter, its gradient and running values, and the numbers of the rule.
/// False, and no step, where those of one parameter are not `_alike`.
#[pyfunction]
fn _fused_step(rule: &str, tensors: Vec<Vec<Tensor>>, numbers: Vec<Vec<f64>>, negate: bool) -> Result<bool> {
    if !tensors.iter().all(|group| are_alike(group)) {
        return Ok(false);
    }
    for group in &tensors {
        for (index, tensor) in group.iter().enumerate() {
            if index != 1 {
                check(rule, tensor)?;
            }
        }
    }
    for dtype in [DType::F32, DType::F64] {
        let chosen: Vec<(Vec<Elements>, &[f64])> = tensors
            .iter()
            .zip(&numbers)
            .filter(|(group, _)| group.first().is_some_and(|tensor| tensor.dtype() == dtype))
            .map(|(group, numbers)| {
                Ok((group.iter().map(Elements::of).collect::<Result<Vec<_>>>()?, numbers.as_slice()))
            })
            .collect::<Result<_>>()?;
        match dtype {
            DType::F64 => by_rule::<f64>(rule, &chosen, negate)?,
            _ => by_rule::<f32>(rule, &chosen, negate)?,
        }
    }
    for group in &tensors {
        for (index, tensor) in group.iter().enumerate() {
            if index != 1 {
                tensor.core().storage.bump();
            }
        }
    }
    Ok(true)
}

type Parameter<'a> = (Vec<Elements>, &'a [f64]);

fn by_rule<T: Real>(rule: &str, parameters: &[Parameter<'_>], negate: bool) -> Result<()> {
    match rule {
        "sgd" => all(rule, parameters, negate, |[decay, rate]: [T; 2]| Sgd { decay, rate }),
        "momentum" => all(rule, parameters, negate, |[decay, rate, momentum, fresh, nesterov]: [T; 5]| Momentum {
            decay,
            rate,
            momentum,
            fresh,
            nesterov: nesterov != T::of(0.0),
        }),
        "adam" => all::<T, 2, 8, _>(rule, parameters, negate, adam),
        "amsgrad" => all::<T, 3, 8, _>(rule, parameters, negate, adam),
        "rmsprop" => all::<T, 1, 6, _>(rule, parameters, negate, rmsprop),
        "rmsprop momentum" => all::<T, 2, 6, _>(rule, parameters, negate, rmsprop),
        "adagrad" => all(rule, parameters, negate, |[decay, epsilon, rate]: [T; 3]| Adagrad { decay, epsilon, rate }),
        "adamax" => all(rule, parameters, negate, |[decay, mean_weight, kept, epsilon, rate]: [T; 5]| Adamax {
            decay,
            mean_weight,
            kept,
            epsilon,
            rate,
        }),
        "adadelta" => all(rule, parameters, negate, |[decay, kept, fresh, epsilon, rate]: [T; 5]| Adadelta {
            decay,
            kept,
            fresh,
            epsilon,
            rate,
        }),
        "nadam" => all::<T, 2, 9, _>(rule, parameters, negate, nadam),
        "asgd" => {
            all(rule, parameters, negate, |[decay, shrink, rate, weight]: [T; 4]| Asgd { decay, shrink, rate, weight })
        }
        "lion" => all(rule, parameters, negate, |[shrink, direction_weight, mean_weight, rate]: [T; 4]| Lion {
            shrink,
            direction_weight,
            mean_weight,
            rate,
        }),
        _ => error::runtime(format!("there is no rule {rule}")),
    }
}

fn adam<T: Real>(numbers: [T; 8]) -> Adam<T> {
    let [decay, shrink, mean_weight, square_kept, square_weight, root, epsilon, rate] = numbers;
    Adam { decay, shrink, mean_weight, square_kept, square_weight, root, epsilon, rate }
}

fn nadam<T: Real>(numbers: [T; 9]) -> Nadam<T> {
    let [decay, shrink, mean_weight, kept, fresh, share, epsilon, grad_rate, mean_rate] = numbers;
    Nadam { decay, shrink, mean_weight, kept, fresh, share, epsilon, grad_rate, mean_rate }
}

fn rmsprop<T: Real>([decay, kept, fresh, epsilon, rate, momentum]: [T; 6]) -> Rmsprop<T> {
    Rmsprop { decay, kept, fresh, epsilon, rate, momentum }
}

/// Steps of all parameters, cut into tasks of about one size.
fn all<T: Real, const K: usize, const N: usize, R: Rule<T, K>>(
    name: &str,
    parameters: &[Parameter<'_>],
    negate: bool,
    make: impl Fn([T; N]) -> R,
) -> Result<()> {
    let mut rules = Vec::with_capacity(parameters.len());
    let mut tasks = Vec::new();
    for (index, (elements, numbers)) in parameters.iter().enumerate() {
        let (Ok(numbers), Some(first)) = (<[f64; N]>::try_from(*numbers), elements.first()) else {
            return error::runtime(format!("{name}: a parameter has {} numbers instead of {N}", numbers.len()));
        };
        if elements.len() != K + 2 {
            return error::runtime(format!("{name}: a parameter has {} tensors instead of {}", elements.len(), K + 2));
        }
        rules.push(make(numbers.map(T::of)));
        let numel = first.geometry.numel();
        tasks.extend((0..numel).step_by(TASK).map(|start| (index, start, TASK.min(numel - start))));
    }
    let run = |number: usize| {
        let (index, start, length) = tasks[number];
        let elements = &parameters[index].0;
        let at = |which: usize| elements[which].at::<T>(elements[which].geometry.offset + start);
        let places = Places { value: at(0), grad: at(1), state: std::array::from_fn(|k| at(k + 2)), length };
        // SAFETY: tensors without gaps of one shape, each in its own memory; tasks share no element.
        unsafe { step(places, &rules[index], negate) };
    };
    let mut addresses: Vec<usize> = parameters.iter().map(|(elements, _)| elements[0].at::<u8>(0) as usize).collect();
    addresses.sort_unstable();
    let apart = addresses.windows(2).all(|pair| pair[0] != pair[1]);
    let work = tasks.iter().map(|task| task.2).sum();
    guard::spread(name, work, || {
        if apart && work > TASK {
            spread_over(tasks.len(), 1, &run);
        } else {
            (0..tasks.len()).for_each(&run);
        }
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_alike, module)?)?;
    module.add_function(wrap_pyfunction!(_fused_step, module)?)
}
