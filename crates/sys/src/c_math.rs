//! The mathematical functions that the program calls by their names in C, in the program itself.
//!
//! The C library has them in one of its own, `libm`: every start of `sbatch` would load and link it, which
//! takes a thirtieth of the command, and calls none of them. Those that are not here are still found there.

/// Defines each under its name in C.
macro_rules! defined {
    ($($name:ident($($argument:ident),+);)*) => {$(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: f64),+) -> f64 {
            libm::$name($($argument),+)
        }
    )*};
}

defined! {
    exp(x);
    exp2(x);
    log(x);
    log10(x);
    pow(x, y);
}

#[cfg(test)]
mod tests {
    /// Called as Rust calls them, which is by the names in C.
    #[test]
    fn they_are_what_rust_calls() {
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-15, "{got} {want}");
        let two = std::hint::black_box(2.0_f64);
        near(two.exp(), 7.389_056_098_930_65);
        near((two + 0.5).exp2(), 5.656_854_249_492_381);
        near(two.ln(), std::f64::consts::LN_2);
        near(two.log10(), std::f64::consts::LOG10_2);
        near(two.powf(1.5), 2.828_427_124_746_190_3);
    }
}
