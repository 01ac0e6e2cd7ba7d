//! Returns freed pages to the system after a large graph is gone (benchmarks/run.py: memory of a freed graph).

/// Asks the allocator to give free pages back; other allocators than glibc's do so by themselves.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes no pointers and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
