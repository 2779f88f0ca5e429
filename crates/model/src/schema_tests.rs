//! The JSON Schema of run files: docs/hostmark.run.schema.json is what these types say.

#[path = "../../../tests/support/golden.rs"]
mod golden;

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Params, Run};

/// Pattern of what [`crate::CaseId`] reads.
pub const CASE_ID: &str = r"^[a-z0-9_]+\.[a-z0-9_]+(@[a-z0-9_]+=[a-z0-9_.+-]+(,[a-z0-9_]+=[a-z0-9_.+-]+)*)?$";

impl JsonSchema for Params {
    fn schema_name() -> Cow<'static, str> {
        "Params".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The point of its axes at which a case stands, in declared order.",
            "type": "object",
            "additionalProperties": { "type": "string", "pattern": "^[a-z0-9_.+-]+$" },
        })
    }
}

/// Descriptions come from the types' documentation: outside of it, its links lead nowhere.
fn without_links(schema: &mut Schema) {
    if let Some(serde_json::Value::String(text)) = schema.get_mut("description") {
        *text = text
            .replace("[`crate::", "`")
            .replace("[`", "`")
            .replace("`]", "`")
            .replace("`SCHEMA`", crate::SCHEMA)
            .replace('\n', " ");
    }
}

/// Returns the schema of run files. It asks for what every file of this major version has, and leaves room for what
/// later ones add: a field that may be null need not be there.
fn schema_of_runs() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_links));
    let schema = settings.into_generator().into_root_schema_for::<Run>();
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_published_schema_is_what_the_types_say() {
    let again = "cargo test -p hostmark-model --lib schema";
    golden::holds(env!("CARGO_MANIFEST_DIR"), "../../docs/hostmark.run.schema.json", &schema_of_runs(), again);
}

/// Fields without which there is no file of this major version. A line is added with a new type; none grows.
const EVERY_FILE_HAS: &str = include_str!("every_file_has.txt");

#[test]
fn a_field_that_was_added_later_may_be_missing() {
    let schema: serde_json::Value = serde_json::from_str(&schema_of_runs()).unwrap();
    let run = [("Run".to_owned(), schema.clone())];
    let types = schema["$defs"].as_object().unwrap().clone().into_iter().chain(run);
    let required = types.filter_map(|(name, of)| {
        let mut fields: Vec<&str> = of["required"].as_array()?.iter().filter_map(|field| field.as_str()).collect();
        fields.sort_unstable();
        Some(format!("{name}: {}", fields.join(" ")))
    });
    let mut required: Vec<String> = required.collect();
    required.sort_unstable();
    for line in required {
        assert!(
            EVERY_FILE_HAS.lines().any(|known| known == line),
            "give the new field a serde default, or add the new type: {line}"
        );
    }
}
