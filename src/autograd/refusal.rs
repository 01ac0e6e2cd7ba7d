//! Refusals found while an op is recorded, where nothing can fail: they are raised when the op hands over its result.

use std::cell::RefCell;

use crate::error::{self, Result};

thread_local! {
    static FOUND: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes why the op that is being recorded on this thread must not succeed; the first reason counts.
pub fn note(reason: impl FnOnce() -> String) {
    FOUND.with_borrow_mut(|found| {
        if found.is_none() {
            *found = Some(reason());
        }
    });
}

/// The noted refusal as an error, once.
pub fn check() -> Result<()> {
    match FOUND.take() {
        None => Ok(()),
        Some(reason) => error::runtime(reason),
    }
}

/// Forgets a refusal: the op has failed for another reason.
pub fn forget() {
    drop(FOUND.take());
}
