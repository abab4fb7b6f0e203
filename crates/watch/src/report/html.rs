//! Text as HTML.

/// A text with nothing in it that HTML takes for its own. What moves or hides text is left out.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            letter if letter.is_control() => html.push(char::REPLACEMENT_CHARACTER),
            letter => html.push(letter),
        }
    }
    html
}

/// A number with as many places as it is worth: `1234`, `12.3`, `0.0412`, `1.2e-7`.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = match size {
        0.0 => return "0".to_owned(),
        1e7.. => return format!("{value:.1e}"),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        1e-3.. => {
            let places = (2.0 - size.log10().floor()).clamp(2.0, 6.0) as usize;
            format!("{value:.places$}")
        }
        _ => return format!("{value:.1e}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_takes_for_its_own() {
        let text = "<script>alert('x')</script>&\"\u{1b}";
        assert_eq!(
            escaped(text),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}"
        );
    }

    #[test]
    fn numbers_have_the_places_that_they_are_worth() {
        let check = |value, want: &str| assert_eq!(number(value), want);
        check(1234.4, "1234");
        check(12.34, "12.3");
        check(2.0, "2");
        check(0.04123, "0.0412");
        check(-0.5, "-0.5");
        check(0.0, "0");
        check(1.23e-7, "1.2e-7");
        check(3e9, "3.0e9");
        check(f64::NAN, "–");
    }
}
