use std::mem::MaybeUninit;

/// A moment (seconds since 1970) in the machine's own time zone, as Slurm writes it:
/// `2026-11-21T12:30:00`. Empty where the calendar ends.
#[must_use]
pub fn local_time(seconds: i64) -> String {
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers lead to values that live here.
    let result = unsafe { libc::localtime_r(&raw const seconds, parts.as_mut_ptr()) };
    if result.is_null() {
        return String::new();
    }
    // SAFETY: zeroed is a valid `tm`, and localtime_r filled it in.
    let parts = unsafe { parts.assume_init() };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        i64::from(parts.tm_year) + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_slurms_shape() {
        // Within a day of 1970-01-02, wherever this runs.
        let text = local_time(86_400);
        assert!(text.starts_with("1970-01-0"), "{text}");
        assert_eq!(text.len(), "1970-01-02T00:00:00".len());
    }
}
