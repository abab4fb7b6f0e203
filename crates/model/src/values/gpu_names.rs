//! Product names of GPUs: what they are called, and which types mean them.

/// Whether a GRES type (`v100`, `h200`) means the GPUs of a product (`NVIDIA H200`): all letters
/// and digits of the type stand together in the product's name, whatever their case.
#[must_use]
pub fn is_gpu_kind(product: &str, kind: &str) -> bool {
    let plain = |text: &str| -> String {
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        kept.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    plain(product).contains(&plain(kind))
}

/// Product names with how often each comes, in the order of the first ones:
/// `3 × NVIDIA H200, 1 × Tesla T4`.
#[must_use]
pub fn counted_gpus<S: AsRef<str>>(products: &[S]) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for product in products {
        let product = product.as_ref();
        match counts.iter_mut().find(|(known, _)| *known == product) {
            Some((_, count)) => *count += 1,
            None => counts.push((product, 1)),
        }
    }
    let each = counts
        .iter()
        .map(|(product, count)| format!("{count} × {product}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_in_order() {
        let products = ["Tesla T4", "NVIDIA H200", "Tesla T4"];
        assert_eq!(counted_gpus(&products), "2 × Tesla T4, 1 × NVIDIA H200");
        assert_eq!(counted_gpus::<&str>(&[]), "");
    }

    #[test]
    fn a_type_is_part_of_the_name() {
        assert!(is_gpu_kind("NVIDIA RTX A6000", "rtx_a6000"));
        assert!(is_gpu_kind("Tesla V100-SXM2-32GB", "v100"));
        assert!(!is_gpu_kind("Tesla V100-SXM2-32GB", "a100"));
    }
}
