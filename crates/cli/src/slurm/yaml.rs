//! A JSON value as YAML: blocks, two spaces deeper each, texts in quotation marks where YAML
//! would read something else. Readers of the real `--yaml` read this as the same value.

use model::DataFormat;
use serde_json::Value;

/// The text of a value in that format.
pub fn in_format(value: &Value, format: DataFormat) -> String {
    match format {
        DataFormat::Json => format!("{value:#}\n"),
        DataFormat::Yaml => yaml_text(value),
    }
}

/// The document.
pub fn yaml_text(value: &Value) -> String {
    let mut text = "---\n".to_owned();
    put(value, 0, &mut text);
    text.push_str("...\n");
    text
}

fn put(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                text.push_str(&format!("{indent}{}:", Value::from(key.as_str())));
                put_after(inner, depth, text);
            }
        }
        Value::Array(list) => {
            for inner in list {
                text.push_str(&format!("{indent}-"));
                put_after(inner, depth, text);
            }
        }
        // JSON's scalars are YAML's.
        scalar => text.push_str(&format!("{indent}{scalar}\n")),
    }
}

/// A value behind a key or a dash: on the same line, or as a block under it.
fn put_after(value: &Value, depth: usize, text: &mut String) {
    let is_block = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if is_block {
        text.push('\n');
        put(value, depth + 1, text);
    } else {
        text.push_str(&format!(" {value}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn blocks_and_scalars() {
        let value = serde_json::json!({
            "jobs": [{ "id": 1, "name": "a: b" }, { "id": 2, "nodes": [] }],
            "none": null,
        });
        expect![[r#"
            ---
            "jobs":
              -
                "id": 1
                "name": "a: b"
              -
                "id": 2
                "nodes": []
            "none": null
            ...
        "#]]
        .assert_eq(&yaml_text(&value));
    }
}
