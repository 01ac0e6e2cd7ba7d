//! The loss of connectionist temporal classification as one native call.

use pyo3::prelude::*;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::ctc::{Batch, Powers, losses};
use crate::kernels::memory::{Elements, Numbers};
use crate::kernels::scratch::Shared;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// What is counted in a call, checked.
struct Sizes {
    /// Times, samples and classes.
    shape: [usize; 3],
    blank: usize,
    targets: Vec<Vec<usize>>,
    times: Vec<usize>,
    forgiving: bool,
}

impl Sizes {
    /// Multiplications and more, about.
    fn work(&self) -> usize {
        let places: usize = self.targets.iter().map(|target| 2 * target.len() + 1).sum();
        self.shape[0].saturating_mul(places).saturating_mul(16)
    }
}

/// The labels of each sample, which stand in rows of one length or one after another.
fn rows(targets: &Tensor, lengths: &[usize], classes: usize) -> Result<Vec<Vec<usize>>> {
    let (shape, labels) = (targets.shape(), Numbers::of(targets)?);
    let (mut start, mut rows) = (0_usize, Vec::with_capacity(lengths.len()));
    for &length in lengths {
        let Some(row) = labels.get().get(start..start.saturating_add(length)) else {
            return error::runtime("ctc_loss: the targets are fewer than target_lengths say");
        };
        let label = |&label: &i64| match usize::try_from(label) {
            Ok(label) if label < classes => Ok(label),
            _ => error::index(format!("ctc_loss: the target {label} is none of the {classes} classes")),
        };
        rows.push(row.iter().map(label).collect::<Result<Vec<_>>>()?);
        start += if let [_, width] = *shape.as_slice() { width } else { length };
    }
    Ok(rows)
}

fn run<T: Powers>(x: &Tensor, sizes: &Sizes, sloped: bool) -> Result<(Tensor, Tensor)> {
    let held = Elements::contiguous(x)?;
    let [_, samples, classes] = sizes.shape;
    let (out, to) = Tensor::uninit_with_pointer(&[samples], x.dtype())?;
    let slopes = Tensor::zeroed(if sloped { &sizes.shape } else { &[0] }, x.dtype())?;
    let slopes_at = Elements::of(&slopes)?;
    let (to, slopes_to) = (Shared(to.cast::<T>()), sloped.then_some(Shared(slopes_at.at::<T>(0))));
    guard::spread("ctc_loss", sizes.work(), || {
        let Sizes { blank, ref targets, ref times, forgiving, .. } = *sizes;
        // SAFETY: the tensor is contiguous and of `T`; the results are fresh, and targets and times were checked.
        unsafe {
            let batch = Batch { log_probs: held.slice(), samples, classes, blank, targets, times, forgiving };
            losses::<T>(&batch, to, slopes_to);
        }
    })?;
    Ok((out, slopes))
}

#[pymethods]
impl PyTensor {
    /// The losses of these log-probabilities (T, N, C), CPU floats, and where `sloped` their slopes, torch's, else nothing.
    /// `targets` are int64 (N, S), or one after another; with `forgiving` what cannot be costs nothing.
    fn _ctc(
        &self,
        targets: Tensor,
        times: Vec<usize>,
        lengths: Vec<usize>,
        blank: usize,
        forgiving: bool,
        sloped: bool,
    ) -> Result<(Tensor, Tensor)> {
        let x = &self.tensor;
        let [all, samples, classes] = *x.shape().as_slice() else {
            return error::runtime("ctc_loss: log_probs need three dimensions");
        };
        let fits = times.len() == samples && lengths.len() == samples && times.iter().all(|&time| time <= all);
        if !fits || blank >= classes {
            return error::runtime("ctc_loss: the lengths or the blank do not fit log_probs");
        }
        let targets = rows(&targets, &lengths, classes)?;
        let sizes = Sizes { shape: [all, samples, classes], blank, targets, times, forgiving };
        match x.dtype() {
            DType::F64 => run::<f64>(x, &sizes, sloped),
            DType::F32 => run::<f32>(x, &sizes, sloped),
            other => error::dtype(format!("ctc_loss: not implemented for '{}'", other.scalar_type())),
        }
    }
}
