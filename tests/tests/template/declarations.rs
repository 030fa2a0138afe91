//! The settings and operations in the documents are those that the code declares.

use std::collections::BTreeSet;

use serde_json::Value;
use vestibule_admin::{OPERATIONS, Operation};
use vestibule_domain::{
    right::Right,
    settings::{FIELDS, Field, FieldType, MESSAGE_LANGUAGES_MAX, TICKET_KEYS_MAX},
};
use vestibule_tests::{
    markdown::{code_spans, numbers, tables},
    template::read_text,
};

const OPERATORS_GUIDE: &str = "docs/commands.md";
const SETTINGS_PAGE: &str = "docs/settings.md";
const RUNBOOKS: &str = "docs/runbooks.md";

#[test]
fn the_settings_page_lists_every_setting_as_declared() {
    let mut listed = BTreeSet::new();
    let pages = [SETTINGS_PAGE, OPERATORS_GUIDE, RUNBOOKS]
        .map(read_text)
        .join("\n\n");
    for table in tables(&pages) {
        if table.header.first().map(String::as_str) != Some("setting") {
            continue;
        }
        for row in &table.rows {
            let name = row[0].trim_matches('`');
            let field = Field::find(name).unwrap_or_else(|| panic!("{name} is not a setting"));
            assert_values(
                field,
                table.cell(row, "values").expect("a column with the values"),
            );
            let default = table.cell(row, "default").expect("a column with the default");
            let expected = Some(field.default_text()).filter(|text| !text.is_empty());
            assert_eq!(
                default.trim_matches('`'),
                expected.as_deref().unwrap_or("none"),
                "{name}"
            );
            // Another table may repeat a few settings. The table of all settings is the one with the units.
            if let Some(unit) = table.cell(row, "unit") {
                assert_eq!(unit, field.unit, "{name}");
                listed.insert(name.to_owned());
            }
        }
    }
    let declared: BTreeSet<_> = FIELDS.iter().map(|field| field.name.to_owned()).collect();
    assert_eq!(listed, declared);
}

/// Compares the numbers or words of a cell with the declaration. The prose around them is free.
fn assert_values(field: &Field, cell: &str) {
    let name = field.name;
    match field.field_type {
        FieldType::Number { min, max } => {
            assert_eq!(numbers(cell), [u64::from(min), u64::from(max)], "{name}");
        }
        FieldType::Word(words) => assert_eq!(
            code_spans(cell),
            words.iter().copied().collect::<BTreeSet<_>>(),
            "{name}"
        ),
        FieldType::Flag => assert_eq!(code_spans(cell), BTreeSet::from(["true", "false"]), "{name}"),
        FieldType::Time => assert!(cell.contains("`null`"), "{name}: {cell}"),
        FieldType::Message { max } => assert_eq!(
            numbers(cell),
            [max, MESSAGE_LANGUAGES_MAX].map(|most| u64::try_from(most).expect("a small number")),
            "{name}"
        ),
        FieldType::Blocks { max } => assert_eq!(
            numbers(cell),
            [u64::try_from(max).expect("a small number")],
            "{name}"
        ),
        FieldType::PublicKeys => assert_eq!(
            numbers(cell),
            [u64::try_from(TICKET_KEYS_MAX).expect("a small number"), 16],
            "{name}"
        ),
        FieldType::Url => assert!(cell.contains("https"), "{name}: {cell}"),
    }
}

#[test]
fn the_guide_shows_every_operation_as_declared() {
    let guide = read_text(OPERATORS_GUIDE);
    let mut shown = BTreeSet::new();
    for event in code_spans(&guide) {
        if !event.starts_with("{\"op\"") {
            continue;
        }
        let event: Value = serde_json::from_str(event).unwrap_or_else(|error| panic!("{event}: {error}"));
        let op = event["op"].as_str().expect("a name");
        let operation = Operation::find(op).unwrap_or_else(|| panic!("{op} is not an operation"));
        for name in event.as_object().expect("an object").keys() {
            assert!(operation.has_field(name), "{op} has no field {name}");
        }
        assert_eq!(
            event.get("confirm").is_some(),
            operation.needs_confirmation,
            "{op}"
        );
        shown.insert(operation.name);
    }
    let declared: BTreeSet<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
    assert_eq!(shown, declared);
}

#[test]
fn the_guide_names_the_operations_of_each_right() {
    let guide = read_text(OPERATORS_GUIDE);
    for (output, right) in [("AdminLook", Right::Look), ("AdminEnd", Right::End)] {
        let row = guide
            .lines()
            .find(|line| line.starts_with(&format!("| `{output}` |")));
        let named = code_spans(row.expect("a row"));
        let operations = named.iter().filter_map(|name| Operation::find(name));
        // An update needs the right to end only if it ends something.
        let named: BTreeSet<_> = operations
            .map(|operation| operation.name)
            .filter(|name| *name != "update")
            .collect();
        let of_right = OPERATIONS.iter().filter(|operation| operation.right == right);
        assert_eq!(
            named,
            of_right.map(|operation| operation.name).collect(),
            "{output}"
        );
    }
}

#[test]
fn every_operation_has_a_test_event() {
    for operation in OPERATIONS {
        let event = read_text(&format!("infra/events/admin-{}.json", operation.name));
        let event: Value = serde_json::from_str(&event).expect("JSON");
        assert_eq!(event["op"], operation.name);
        for name in event.as_object().expect("an object").keys() {
            assert!(
                operation.has_field(name),
                "{} has no field {name}",
                operation.name
            );
        }
    }
}
